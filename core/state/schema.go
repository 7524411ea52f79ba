package state

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/go-memdb"

	"github.com/rowelhq/rowel/core"
)

// The tables and indexes of the store. Every index of a record costs about a
// microsecond a write, so an index holds only the records that are looked up by it.
const (
	tableJobs     = "jobs"
	tableNodes    = "nodes"
	tableMembers  = "members"
	tablePayloads = "payloads"
	tableRequests = "requests"

	indexID       = "id"
	indexPhase    = "phase"    // jobs: waiting, allocated or over; then id
	indexArray    = "array"    // jobs of arrays: array, then master before elements by index
	indexNode     = "node"     // jobs that hold resources: by each of their nodes, then id
	indexModified = "modified" // jobs: last change, then id
	indexEnded    = "ended"    // jobs that are over: when, then id
	indexSeen     = "seen"     // requests: when, then key
)

// storedPayload is a payload with the number of elements that may still need it. One in
// the store is never changed: a change replaces it.
type storedPayload struct {
	job        core.JobID // the PayloadID of the jobs that run it
	payload    *core.Payload
	unfinished uint32 // at least 1
}

// storedRequest is the answer to a SubmitJobs, kept for repeats of it.
type storedRequest struct {
	key  string
	jobs []core.JobID
	at   time.Time
}

func schema() *memdb.DBSchema {
	return &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		tableJobs: table(tableJobs,
			unique(indexID, func(j *core.Job) []byte { return idKey(j.ID) }),
			unique(indexPhase, func(j *core.Job) []byte { return phaseKey(phaseOf(j.State), j.ID) }),
			unique(indexArray, jobArrayKey),
			manyKeys(indexNode, jobNodeKeys),
			unique(indexModified, func(j *core.Job) []byte { return modifiedKey(j.ModifyIndex, j.ID) }),
			unique(indexEnded, jobEndedKey)),
		tableNodes: table(tableNodes,
			unique(indexID, func(n *core.Node) []byte { return []byte(n.Name) })),
		tableMembers: table(tableMembers,
			unique(indexID, func(m *core.Member) []byte { return []byte(m.ServerID) })),
		tablePayloads: table(tablePayloads,
			unique(indexID, func(p *storedPayload) []byte { return idKey(p.job) })),
		tableRequests: table(tableRequests,
			unique(indexID, func(r *storedRequest) []byte { return []byte(r.key) }),
			unique(indexSeen, func(r *storedRequest) []byte { return append(timeKey(r.at), r.key...) })),
	}}
}

func table(name string, indexes ...*memdb.IndexSchema) *memdb.TableSchema {
	t := &memdb.TableSchema{Name: name, Indexes: make(map[string]*memdb.IndexSchema, len(indexes))}
	for _, index := range indexes {
		t.Indexes[index.Name] = index
	}
	return t
}

// unique describes an index with at most one key for a record; nil leaves it out.
func unique[T any](name string, key func(*T) []byte) *memdb.IndexSchema {
	return &memdb.IndexSchema{Name: name, Unique: true, AllowMissing: true, Indexer: keyIndexer[T](key)}
}

// manyKeys describes an index with any number of keys for a record, each unique.
func manyKeys[T any](name string, keys func(*T) [][]byte) *memdb.IndexSchema {
	return &memdb.IndexSchema{Name: name, Unique: true, AllowMissing: true, Indexer: keysIndexer[T](keys)}
}

// keyIndexer tells memdb a record's key. Lookups give the key, or its beginning, whole.
type keyIndexer[T any] func(*T) []byte

func (k keyIndexer[T]) FromObject(record any) (bool, []byte, error) {
	key := k(record.(*T))
	return key != nil, key, nil
}

func (keyIndexer[T]) FromArgs(args ...any) ([]byte, error)       { return keyArgument(args) }
func (keyIndexer[T]) PrefixFromArgs(args ...any) ([]byte, error) { return keyArgument(args) }

// keysIndexer is a keyIndexer for several keys.
type keysIndexer[T any] func(*T) [][]byte

func (k keysIndexer[T]) FromObject(record any) (bool, [][]byte, error) {
	keys := k(record.(*T))
	return len(keys) > 0, keys, nil
}

func (keysIndexer[T]) FromArgs(args ...any) ([]byte, error)       { return keyArgument(args) }
func (keysIndexer[T]) PrefixFromArgs(args ...any) ([]byte, error) { return keyArgument(args) }

func keyArgument(args []any) ([]byte, error) {
	if len(args) == 1 {
		if key, ok := args[0].([]byte); ok {
			return key, nil
		}
	}
	return nil, fmt.Errorf("an index is looked up by one key of bytes, not %v", args)
}

// phase is what an index of jobs by state needs to tell apart.
type phase byte

const (
	phaseWaiting phase = iota
	phaseAllocated
	phaseOver
)

func phaseOf(s core.JobState) phase {
	switch {
	case s.Allocated():
		return phaseAllocated
	case s.Terminal():
		return phaseOver
	}
	return phaseWaiting
}

func idKey(id core.JobID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

func phaseKey(p phase, id core.JobID) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(p)}, uint64(id))
}

func modifiedKey(index uint64, id core.JobID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, index), uint64(id))
}

// timeKey sorts as time does, also before 1970.
func timeKey(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(unixNano(t))^(1<<63))
}

// masterKey and elementKey name the records of one array. An array has at most one
// record of each key.
func masterKey(array core.JobID) []byte { return append(idKey(array), 0) }

func elementKey(array core.JobID, index uint32) []byte {
	return binary.BigEndian.AppendUint32(append(idKey(array), 1), index)
}

func jobArrayKey(j *core.Job) []byte {
	switch {
	case j.ArrayID == 0:
		return nil
	case j.ArrayMaster():
		return masterKey(j.ArrayID)
	}
	return elementKey(j.ArrayID, j.ArrayIndex)
}

// nodeKey is the beginning of the keys of a node's jobs: no name has a NUL byte.
func nodeKey(name string) []byte { return append([]byte(name), 0) }

func jobNodeKeys(j *core.Job) [][]byte {
	if !j.State.Allocated() {
		return nil
	}
	keys := make([][]byte, 0, len(j.Placements))
	for _, p := range j.Placements {
		keys = append(keys, append(nodeKey(p.Node), idKey(j.ID)...))
	}
	return keys
}

func jobEndedKey(j *core.Job) []byte {
	if !j.State.Terminal() {
		return nil
	}
	return append(timeKey(j.EndedAt), idKey(j.ID)...)
}
