package state

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-memdb"

	"github.com/rowelhq/rowel/core"
)

// entry is the change that one log entry makes. Records are copied when they are first
// edited, edited in place from then on, and written to the database once, by flush:
// a thousand starts on one node write it one time.
//
// Whoever edits has checked first that nothing will be refused: there is no undo.
type entry struct {
	head
	db  *memdb.MemDB // the next view's
	txn *memdb.Txn   // open on db until commit

	jobs     staged[core.JobID, core.Job]
	nodes    staged[string, core.Node]
	payloads staged[core.JobID, storedPayload]

	broken error // the first invariant found broken; the entry is then given up
}

// staged holds the copies that an entry has made of one table's records.
type staged[K comparable, R any] struct {
	records map[K]*R
	order   []K // of the first edit, so that flush does not depend on the map
}

func (s *staged[K, R]) put(key K, record *R) *R {
	if s.records == nil {
		s.records = make(map[K]*R)
	}
	s.records[key] = record
	s.order = append(s.order, key)
	return record
}

func (s *staged[K, R]) clear() {
	clear(s.records)
	s.order = s.order[:0]
}

func newEntry(base *View, index uint64, at time.Time) *entry {
	db := base.db.Snapshot()
	e := &entry{head: base.head, db: db, txn: db.Txn(true)}
	e.index = index
	if at = fromUnixNano(unixNano(at)); at.After(e.at) {
		e.at = at
	}
	return e
}

// commit writes what is staged and returns the state after the entry.
func (e *entry) commit() *View {
	e.flush()
	e.txn.Commit()
	return &View{db: e.db, head: e.head, changed: make(chan struct{})}
}

// flush writes what is staged, so that indexes tell the truth. It must be called before
// any lookup by an index other than the key of a table.
func (e *entry) flush() {
	for _, id := range e.jobs.order {
		job := e.jobs.records[id]
		e.counts.add(job)
		must(e.txn.Insert(tableJobs, job))
	}
	e.jobs.clear()
	for _, name := range e.nodes.order {
		must(e.txn.Insert(tableNodes, e.nodes.records[name]))
	}
	e.nodes.clear()
	for _, id := range e.payloads.order {
		payload := e.payloads.records[id]
		if payload.unfinished > 0 {
			must(e.txn.Insert(tablePayloads, payload))
			continue
		}
		_, err := e.txn.DeleteAll(tablePayloads, indexID, idKey(id))
		must(err)
	}
	e.payloads.clear()
}

// job returns the record to read, or nil.
func (e *entry) job(id core.JobID) *core.Job {
	if job, ok := e.jobs.records[id]; ok {
		return job
	}
	return first[core.Job](e.txn, tableJobs, indexID, idKey(id))
}

// editJob returns the entry's own copy of an existing record.
func (e *entry) editJob(id core.JobID) *core.Job {
	if job, ok := e.jobs.records[id]; ok {
		return job
	}
	job := *first[core.Job](e.txn, tableJobs, indexID, idKey(id))
	e.counts.remove(&job)
	job.ModifyIndex = e.index
	return e.jobs.put(id, &job)
}

// addJob gives a new record the next ID and stages it.
func (e *entry) addJob(job core.Job) *core.Job {
	job.ID = e.nextJob
	job.ModifyIndex = e.index
	e.nextJob++
	return e.jobs.put(job.ID, &job)
}

// node returns the node to read, or nil.
func (e *entry) node(name string) *core.Node {
	if node, ok := e.nodes.records[name]; ok {
		return node
	}
	return first[core.Node](e.txn, tableNodes, indexID, []byte(name))
}

// editNode returns the entry's own copy of a node, a new one if there is none.
func (e *entry) editNode(name string) *core.Node {
	if node, ok := e.nodes.records[name]; ok {
		return node
	}
	node := core.Node{Name: name}
	if known := e.node(name); known != nil {
		node = *known
	}
	node.ModifyIndex = e.index
	return e.nodes.put(name, &node)
}

// finish notes that some jobs of a payload need it no longer, and drops it with the last.
func (e *entry) finish(id core.JobID, jobs uint32) {
	stored, ok := e.payloads.records[id]
	if !ok {
		known := first[storedPayload](e.txn, tablePayloads, indexID, idKey(id))
		if known == nil {
			e.breaks("payload %d of a job that just ended is not there", id)
			return
		}
		payload := *known
		stored = e.payloads.put(id, &payload)
	}
	if stored.unfinished < jobs {
		e.breaks("payload %d is needed by %d jobs, and %d of them ended", id, stored.unfinished, jobs)
		return
	}
	stored.unfinished -= jobs
}

// breaks records that the state contradicts itself.
func (e *entry) breaks(format string, args ...any) {
	if e.broken == nil {
		e.broken = fmt.Errorf("broken invariant: "+format, args...)
	}
}

// first returns the record with a key, or nil.
func first[R any](txn *memdb.Txn, table, index string, key []byte) *R {
	record, err := txn.First(table, index, key)
	must(err)
	if record == nil {
		return nil
	}
	return record.(*R)
}

// collect returns the records whose keys begin with prefix, in key order.
func collect[R any](txn *memdb.Txn, table, index string, prefix []byte) []*R {
	iterator, err := txn.Get(table, index+"_prefix", prefix)
	must(err)
	var records []*R
	for record := iterator.Next(); record != nil; record = iterator.Next() {
		records = append(records, record.(*R))
	}
	return records
}
