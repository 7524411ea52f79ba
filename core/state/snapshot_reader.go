package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core/wire"
)

// maxRecordBytes bounds one record: far above the largest that can be written, a job
// with its payload, and small enough for any controller's memory.
const maxRecordBytes = 64 << 20

// snapshotReader takes a snapshot's stream apart and sums what passes. Memory grows with
// what the stream really has, not with the lengths that it claims.
type snapshotReader struct {
	in      *bufio.Reader
	sum     hash.Hash64
	buffer  bytes.Buffer // reused
	records uint64       // read so far
	offset  int64        // of the next byte
}

func newSnapshotReader(r io.Reader) *snapshotReader {
	return &snapshotReader{in: bufio.NewReaderSize(r, 64<<10), sum: newChecksum()}
}

// ReadByte reads one summed byte, for binary.ReadUvarint.
func (r *snapshotReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err != nil {
		return 0, err
	}
	r.offset++
	r.sum.Write([]byte{b}) // a hash never fails
	return b, nil
}

// record reads the next record. Its error says at which byte the record began.
func (r *snapshotReader) record() (*wire.SnapshotRecord, error) {
	start := r.offset
	message, err := r.readRecord()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the snapshot is cut short: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("record %d at byte %d: %w", r.records+1, start, err)
	}
	r.records++
	return message, nil
}

func (r *snapshotReader) readRecord() (*wire.SnapshotRecord, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if size > maxRecordBytes {
		return nil, fmt.Errorf("it claims %d bytes, the limit is %d", size, maxRecordBytes)
	}
	r.buffer.Reset()
	n, err := io.CopyN(&r.buffer, r.in, int64(size))
	r.offset += n
	if err != nil {
		return nil, err
	}
	r.sum.Write(r.buffer.Bytes())
	message := &wire.SnapshotRecord{}
	if err := proto.Unmarshal(r.buffer.Bytes(), message); err != nil {
		return nil, err
	}
	return message, wire.RefuseUnknownFields(message)
}

// trailer reads the checksum and makes sure that nothing follows it.
func (r *snapshotReader) trailer() error {
	sum := r.sum.Sum64()
	var trailer [trailerBytes]byte
	if _, err := io.ReadFull(r.in, trailer[:]); err != nil {
		return fmt.Errorf("checksum at byte %d: the snapshot is cut short: %w", r.offset, err)
	}
	if told := binary.BigEndian.Uint64(trailer[:]); told != sum {
		return fmt.Errorf("checksum at byte %d: the snapshot says %016x, its bytes give %016x", r.offset, told, sum)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return fmt.Errorf("end of the snapshot at byte %d: %w", r.offset+trailerBytes, err)
		}
		return fmt.Errorf("end of the snapshot at byte %d: more bytes follow", r.offset+trailerBytes)
	}
	return nil
}
