package state

import "github.com/rowelhq/rowel/core"

// transition moves a job on. Callers know that the step is legal; if it is not, the
// state contradicts itself.
func (e *entry) transition(job *core.Job, next core.JobState) {
	if err := job.Transition(next); err != nil {
		e.breaks("%w", err)
	}
}

// end makes a staged record terminal, frees what it holds and lets go of its payload.
// How it ended besides, the caller has set or will set.
func (e *entry) end(job *core.Job, state core.JobState) {
	held := job.State.Allocated()
	e.transition(job, state)
	job.EndedAt = e.at
	job.ArrayRunning = 0
	e.finish(job.PayloadID(), elements(job))
	if !held {
		return
	}
	for _, placement := range job.Placements {
		e.release(placement)
	}
	e.countRunning(job, -1)
}

func (e *entry) release(placement core.Placement) {
	if known := e.node(placement.Node); known == nil || known.Jobs == 0 || !placement.FitsIn(known.Allocated) {
		e.breaks("node %s does not hold the %v that a job gives back", placement.Node, placement.Resources)
		return
	}
	node := e.editNode(placement.Node)
	node.Allocated = node.Allocated.Minus(placement.Resources)
	node.Jobs--
}
