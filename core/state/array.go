package state

import "github.com/rowelhq/rowel/core"

// takeElement moves one index out of an array's record of what has not started, and
// returns the element's own pending record to edit. The last index takes the record
// itself along, as in Slurm.
func (e *entry) takeElement(master core.JobID, index uint32) *core.Job {
	record := e.editJob(master)
	rest := record.ArrayPending.Without(index)
	if rest.Empty() {
		record.ArrayPending = rest
		record.ArrayIndex = index
		record.ArrayRunning = 0
		return record
	}
	element := *record
	record.ArrayPending = rest
	element.ArrayPending = core.IndexSet{}
	element.ArrayIndex = index
	element.ArrayRunning = 0
	return e.addJob(element)
}

// countRunning adds delta to the elements that hold resources of job's array, for its
// %limit. Once nothing waits to start, nobody counts.
func (e *entry) countRunning(job *core.Job, delta int32) {
	if job.ArrayID == 0 {
		return
	}
	master := e.job(job.ArrayID)
	if master == nil || !master.ArrayMaster() || master.State.Terminal() {
		return
	}
	if delta < 0 && master.ArrayRunning == 0 {
		e.breaks("an element of array %d ended and none was running", job.ArrayID)
		return
	}
	record := e.editJob(master.ID)
	record.ArrayRunning = uint32(int32(record.ArrayRunning) + delta)
}
