package state

import (
	"iter"
	"math"

	"github.com/rowelhq/rowel/core"
)

// Job returns the record with an ID, or nil.
func (v *View) Job(id core.JobID) *core.Job {
	return first[core.Job](v.read(), tableJobs, indexID, idKey(id))
}

// Jobs yields all records by ID.
func (v *View) Jobs() iter.Seq[*core.Job] { return all[core.Job](v, tableJobs, indexID, nil) }

// Pending yields the records that wait to start, by ID.
func (v *View) Pending() iter.Seq[*core.Job] { return v.inPhase(phaseWaiting) }

// Allocated yields the records that hold resources on nodes, by ID.
func (v *View) Allocated() iter.Seq[*core.Job] { return v.inPhase(phaseAllocated) }

// Terminal yields the records that are over and not yet forgotten, by ID.
func (v *View) Terminal() iter.Seq[*core.Job] { return v.inPhase(phaseOver) }

func (v *View) inPhase(p phase) iter.Seq[*core.Job] {
	return all[core.Job](v, tableJobs, indexPhase, []byte{byte(p)})
}

// ArrayJobs yields all records of an array: first what has not started, if anything is
// left of it, then the elements by index.
func (v *View) ArrayJobs(array core.JobID) iter.Seq[*core.Job] {
	return all[core.Job](v, tableJobs, indexArray, idKey(array))
}

// JobsOn yields the records that hold resources on a node, by ID.
func (v *View) JobsOn(node string) iter.Seq[*core.Job] {
	return all[core.Job](v, tableJobs, indexNode, nodeKey(node))
}

// JobsModifiedSince yields the records whose last change is above index, in the order of
// these changes and by ID within one entry. It costs what it yields, however many other
// jobs there are. Forgotten records do not appear.
func (v *View) JobsModifiedSince(index uint64) iter.Seq[*core.Job] {
	if index == math.MaxUint64 {
		return func(func(*core.Job) bool) {}
	}
	return from[core.Job](v, tableJobs, indexModified, modifiedKey(index+1, 0))
}

// Payload returns what a job runs. It returns nil if there is no such job, or if no job
// that shares the payload can still run.
func (v *View) Payload(id core.JobID) *core.Payload {
	job := v.Job(id)
	if job == nil {
		return nil
	}
	stored := first[storedPayload](v.read(), tablePayloads, indexID, idKey(job.PayloadID()))
	if stored == nil {
		return nil
	}
	return stored.payload
}

// Resolve returns the records that a reference names: one, or all of an array, first
// what has not started. The reference to an element that has not started gives the
// record that stands for it. What does not exist is a NotFound error.
func (v *View) Resolve(ref core.JobRef) ([]*core.Job, error) {
	return resolve(v.read(), ref)
}
