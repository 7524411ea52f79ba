package state

import "github.com/rowelhq/rowel/core"

// cancelJobs handles each reference by itself: one that does not exist stops no other.
func (e *entry) cancelJobs(c core.CancelJobs) (core.Cancelled, error) {
	if c.By == "" {
		return core.Cancelled{}, core.Errorf(core.Invalid, "a cancel must say who asked for it")
	}
	by := shorten(c.By, core.MaxNameBytes)
	cancelled := core.Cancelled{Errors: make([]error, len(c.Refs))}
	for i, ref := range c.Refs {
		cancelled.Errors[i] = e.cancelRef(ref, by)
	}
	return cancelled, nil
}

func (e *entry) cancelRef(ref core.JobRef, by string) error {
	if job := e.job(ref.ID); ref.Index == nil && job != nil && job.ArrayID != ref.ID {
		e.cancel(job, by) // by far the most; needs no index, so no flush
		return nil
	}
	e.flush()
	jobs, err := resolve(e.txn, ref)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if ref.Index != nil && job.ArrayMaster() && !job.State.Terminal() {
			job = e.takeElement(job.ID, *ref.Index)
		}
		e.cancel(job, by)
	}
	return nil
}

// cancel ends one record: at once what is pending, which for an array means all that has
// not started, as one record that keeps listing it; what runs, when its agent reports
// the end. A record that is over, or ending, stays as it is.
func (e *entry) cancel(job *core.Job, by string) {
	switch job.State {
	case core.JobPending:
		job = e.editJob(job.ID)
		e.end(job, core.JobCancelled)
		job.Reason, job.Message = core.ReasonNone, ""
		job.CancelledBy = by
	case core.JobRunning, core.JobSuspended:
		job = e.editJob(job.ID)
		e.transition(job, core.JobCompleting)
		job.CancelledBy = by
	}
}
