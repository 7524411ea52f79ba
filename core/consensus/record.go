package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// A log record is, little-endian:
//
//	crc32c    4  over the entry's index and all that follows
//	version   1
//	type      1
//	term      8
//	appended  8  Unix nanoseconds, 0 for none
//	data len  4
//	data, then extensions to the end
//
// The index is the key. bbolt does not checksum its pages, so each record vouches for
// itself, and for the place it is found at.
const (
	recordVersion    = 1
	recordHeaderSize = 4 + 1 + 1 + 8 + 8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt is in the chain of every error that says stored bytes are not what was
// written. Nothing is repaired or removed: an operator decides.
var ErrCorrupt = errors.New("corrupt")

// encodeRecord returns entry as a record.
func encodeRecord(entry *raft.Log) []byte {
	b := make([]byte, recordHeaderSize, recordHeaderSize+len(entry.Data)+len(entry.Extensions))
	b[4] = recordVersion
	b[5] = byte(entry.Type)
	binary.LittleEndian.PutUint64(b[6:], entry.Term)
	if !entry.AppendedAt.IsZero() {
		binary.LittleEndian.PutUint64(b[14:], uint64(entry.AppendedAt.UnixNano()))
	}
	binary.LittleEndian.PutUint32(b[22:], uint32(len(entry.Data)))
	b = append(b, entry.Data...)
	b = append(b, entry.Extensions...)
	binary.LittleEndian.PutUint32(b, recordSum(entry.Index, b))
	return b
}

// decodeRecord fills entry from the record found under index. It keeps nothing of b.
func decodeRecord(index uint64, b []byte, entry *raft.Log) error {
	if len(b) < recordHeaderSize {
		return fmt.Errorf("log entry %d: %w: record of %d bytes is cut short", index, ErrCorrupt, len(b))
	}
	if sum := recordSum(index, b); sum != binary.LittleEndian.Uint32(b) {
		return fmt.Errorf("log entry %d: %w: checksum does not match", index, ErrCorrupt)
	}
	if b[4] != recordVersion {
		return fmt.Errorf("log entry %d: record version %d, this rowel reads %d", index, b[4], recordVersion)
	}
	body := b[recordHeaderSize:]
	size := binary.LittleEndian.Uint32(b[22:])
	if uint64(size) > uint64(len(body)) {
		return fmt.Errorf("log entry %d: %w: %d bytes of data claimed, %d there", index, ErrCorrupt, size, len(body))
	}
	*entry = raft.Log{Index: index, Type: raft.LogType(b[5]), Term: binary.LittleEndian.Uint64(b[6:])}
	if appended := binary.LittleEndian.Uint64(b[14:]); appended != 0 {
		entry.AppendedAt = time.Unix(0, int64(appended))
	}
	entry.Data = append([]byte(nil), body[:size]...)
	if extensions := body[size:]; len(extensions) > 0 {
		entry.Extensions = append([]byte(nil), extensions...)
	}
	return nil
}

func recordSum(index uint64, record []byte) uint32 {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], index)
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, record[4:])
}

// seal puts a checksum before a small value.
func seal(value []byte) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(value)), crc32.Checksum(value, castagnoli))
	return append(b, value...)
}

// unseal returns a copy of the value that seal was given. what names it in errors.
func unseal(what string, b []byte) ([]byte, error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return nil, fmt.Errorf("%s: %w: checksum does not match", what, ErrCorrupt)
	}
	return append([]byte{}, b[4:]...), nil
}
