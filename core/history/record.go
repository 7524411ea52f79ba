package history

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	recordKeyBytes = 12 // ID, attempt
	checksumBytes  = 4
)

// castagnoli finds the bits that a disk turned: bbolt checks its meta pages only.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoding makes equal records equal bytes, so that a record already there is not
// written again.
var encoding = proto.MarshalOptions{Deterministic: true}

// recordKey sorts by ID, then attempt.
func recordKey(id core.JobID, attempt uint32) []byte {
	return binary.BigEndian.AppendUint32(idPrefix(id), attempt)
}

// splitRecordKey is the inverse of recordKey; a key of another length gives zeros.
func splitRecordKey(key []byte) (id core.JobID, attempt uint32) {
	if len(key) != recordKeyBytes {
		return 0, 0
	}
	return core.JobID(binary.BigEndian.Uint64(key)), binary.BigEndian.Uint32(key[8:])
}

// idPrefix begins the keys of all attempts of a job, and of an array's elements in the
// bucket of arrays.
func idPrefix(id core.JobID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

// endedKey sorts by end, then by ID and attempt.
func endedKey(end time.Time, record []byte) []byte { return append(endedPrefix(end), record...) }

// endedPrefix sorts as time does; what ended before 1970 counts as then.
func endedPrefix(end time.Time) []byte {
	nanoseconds := int64(0)
	if end.Year() >= 1970 {
		nanoseconds = max(0, end.UnixNano())
	}
	return binary.BigEndian.AppendUint64(nil, uint64(nanoseconds))
}

// encodeRecord returns a checksum over the key and the job, then the job: a record that
// ended up under another's key is as wrong as one with a turned bit.
func encodeRecord(key []byte, job *core.Job) ([]byte, error) {
	value, err := encoding.MarshalAppend(make([]byte, checksumBytes, 256), wire.FromJob(job))
	if err != nil {
		return nil, fmt.Errorf("encode job %s: %w", job.DisplayID(), err)
	}
	binary.BigEndian.PutUint32(value, checksum(key, value[checksumBytes:]))
	return value, nil
}

// decodeRecord is the inverse of encodeRecord. The job shares nothing with value.
func decodeRecord(key, value []byte) (*core.Job, error) {
	if len(key) != recordKeyBytes || len(value) < checksumBytes {
		return nil, fmt.Errorf("record has %d bytes under a key of %d", len(value), len(key))
	}
	if binary.BigEndian.Uint32(value) != checksum(key, value[checksumBytes:]) {
		return nil, fmt.Errorf("checksum does not match")
	}
	var message wire.Job
	if err := proto.Unmarshal(value[checksumBytes:], &message); err != nil {
		return nil, err
	}
	return wire.ToJob(&message)
}

func checksum(key, job []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, job)
}

// put writes one job's record and what finds it, or nothing if it is there already.
func put(tx *bolt.Tx, job *core.Job) error {
	key := recordKey(job.ID, job.Attempt)
	value, err := encodeRecord(key, job)
	if err != nil {
		return err
	}
	jobs, ended, arrays := tx.Bucket(bucketJobs), tx.Bucket(bucketEnded), tx.Bucket(bucketArrays)
	if old := jobs.Get(key); old != nil {
		if bytes.Equal(old, value) {
			return nil
		}
		if err := unlink(ended, arrays, key, old); err != nil {
			return err
		}
	}
	if err := ended.Put(endedKey(job.EndedAt, key), nil); err != nil {
		return err
	}
	if job.ArrayID != 0 {
		if err := arrays.Put(append(idPrefix(job.ArrayID), key...), nil); err != nil {
			return err
		}
	}
	return jobs.Put(key, value)
}

// unlink removes what finds the record that is about to be replaced. One that cannot be
// read leaves its entries behind; queries pass over entries that their record denies.
func unlink(ended, arrays *bolt.Bucket, key, old []byte) error {
	job, err := decodeRecord(key, old)
	if err != nil {
		return nil
	}
	if err := ended.Delete(endedKey(job.EndedAt, key)); err != nil {
		return err
	}
	return arrays.Delete(append(idPrefix(job.ArrayID), key...))
}
