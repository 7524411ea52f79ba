package state

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-memdb"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// Restore replaces the state by a snapshot's. It is all or nothing: after an error the
// store is as it was. The error says at which byte the snapshot is wrong: cut short,
// changed, out of order, or written by a version that this one does not understand.
// Those who wait on an older view's Changed are woken.
//
// Restore reads r to its end and does not close it.
func (s *Store) Restore(r io.Reader) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	next, err := readSnapshot(newSnapshotReader(r))
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	s.publish(next)
	return nil
}

func readSnapshot(r *snapshotReader) (*View, error) {
	b := newRestoration()
	for !b.ended {
		start := r.offset
		message, err := r.record()
		if err != nil {
			return nil, err
		}
		if err := b.add(message, r.records-1); err != nil {
			return nil, fmt.Errorf("record %d at byte %d: %w", r.records, start, err)
		}
	}
	if err := r.trailer(); err != nil {
		return nil, err
	}
	b.txn.Commit()
	return &View{db: b.db, head: b.head, changed: make(chan struct{})}, nil
}

// recordKind is a kind of record, by its place in the stream.
type recordKind int

const (
	noRecord recordKind = iota
	headerRecord
	memberRecord
	nodeRecord
	jobRecord
	payloadRecord
	requestRecord
	endRecord
)

// restoration builds a state from a snapshot's records.
type restoration struct {
	head
	db  *memdb.MemDB
	txn *memdb.Txn

	kind  recordKind // of the last record
	key   string     // of the last record of that kind
	ended bool

	// arrays has the first record's spec of each array in the snapshot, for the others
	// to share: a hundred thousand elements have one.
	arrays map[core.JobID]arraySpec
}

type arraySpec struct {
	message *wire.JobSpec
	spec    *core.JobSpec
}

func newRestoration() *restoration {
	db := newDB()
	return &restoration{db: db, txn: db.Txn(true), arrays: make(map[core.JobID]arraySpec)}
}

// add takes the next record; before is how many came before it.
func (b *restoration) add(message *wire.SnapshotRecord, before uint64) error {
	switch k := message.GetKind().(type) {
	case *wire.SnapshotRecord_Header:
		return b.addHeader(k.Header)
	case *wire.SnapshotRecord_Member:
		member := wire.ToMember(k.Member)
		return b.insert(memberRecord, tableMembers, member.ServerID, &member)
	case *wire.SnapshotRecord_Node:
		node, err := wire.ToNode(k.Node)
		if err != nil {
			return err
		}
		return b.insert(nodeRecord, tableNodes, node.Name, node)
	case *wire.SnapshotRecord_Job:
		return b.addJob(k.Job)
	case *wire.SnapshotRecord_Payload:
		return b.addPayload(k.Payload)
	case *wire.SnapshotRecord_Request:
		return b.addRequest(k.Request)
	case *wire.SnapshotRecord_End:
		if told := k.End.GetRecords(); told != before {
			return fmt.Errorf("the snapshot says that it has %d records, it has %d", told, before)
		}
		b.ended = true
		return b.follows(endRecord, "")
	}
	return errors.New("it is of no kind")
}

func (b *restoration) addHeader(h *wire.SnapshotHeader) error {
	if b.kind != noRecord {
		return errors.New("a second header")
	}
	if v := h.GetVersion(); v != snapshotVersion {
		return fmt.Errorf("snapshot format %d is not known to this version, which reads %d", v, snapshotVersion)
	}
	if h.GetNextJob() == 0 {
		return errors.New("the next job has no ID")
	}
	b.kind = headerRecord
	b.index = h.GetIndex()
	b.at = fromUnixNano(h.GetTimeUnixNano())
	b.nextJob = core.JobID(h.GetNextJob())
	return nil
}

func (b *restoration) addJob(m *wire.Job) error {
	shared, known := b.arrays[core.JobID(m.GetArrayId())]
	var job *core.Job
	var err error
	if known && proto.Equal(shared.message, m.GetSpec()) {
		job, err = wire.ToJobSharing(m, shared.spec)
	} else {
		job, err = wire.ToJob(m)
	}
	if err != nil {
		return err
	}
	if job.ID == 0 || job.ID >= b.nextJob {
		return fmt.Errorf("job %d is not below the next ID, %d", job.ID, b.nextJob)
	}
	if job.ArrayID != 0 && !known {
		b.arrays[job.ArrayID] = arraySpec{message: m.GetSpec(), spec: job.Spec}
	}
	b.counts.add(job)
	return b.insert(jobRecord, tableJobs, string(idKey(job.ID)), job)
}

func (b *restoration) addPayload(m *wire.StoredPayload) error {
	payload := &storedPayload{
		job:        core.JobID(m.GetJob()),
		payload:    wire.ToPayload(m.GetPayload()),
		unfinished: m.GetUnfinished(),
	}
	if payload.unfinished == 0 {
		return fmt.Errorf("payload %d is needed by no job", payload.job)
	}
	return b.insert(payloadRecord, tablePayloads, string(idKey(payload.job)), payload)
}

func (b *restoration) addRequest(m *wire.StoredRequest) error {
	request := &storedRequest{key: m.GetKey(), at: fromUnixNano(m.GetTimeUnixNano())}
	for _, id := range m.GetJobs() {
		request.jobs = append(request.jobs, core.JobID(id))
	}
	return b.insert(requestRecord, tableRequests, request.key, request)
}

// insert adds a record that comes after all before it.
func (b *restoration) insert(kind recordKind, table, key string, record any) error {
	if key == "" {
		return errors.New("it has no key")
	}
	if err := b.follows(kind, key); err != nil {
		return err
	}
	return b.txn.Insert(table, record)
}

// follows makes sure that records come by kind, and by key within one, each once.
func (b *restoration) follows(kind recordKind, key string) error {
	if b.kind == noRecord {
		return errors.New("the snapshot does not start with a header")
	}
	if kind < b.kind || kind == b.kind && key <= b.key {
		return errors.New("it is out of order")
	}
	b.kind, b.key = kind, key
	return nil
}
