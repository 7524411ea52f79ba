package state

import "github.com/rowelhq/rowel/core"

// reportJobs ends the jobs whose current attempt an agent saw end.
func (e *entry) reportJobs(c core.ReportJobs) (core.Reported, error) {
	for _, report := range c.Reports {
		if !report.State.Terminal() {
			return core.Reported{}, core.Errorf(core.Invalid,
				"a report says that job %d is %s, which is no end", report.Job, report.State)
		}
	}
	var reported core.Reported
	for _, report := range c.Reports {
		job := e.job(report.Job)
		if job == nil || !job.State.Allocated() || job.Attempt != report.Attempt {
			continue // late: about an older attempt, or told already
		}
		e.endAsReported(e.editJob(report.Job), report)
		reported.Ended = append(reported.Ended, report.Job)
	}
	return reported, nil
}

// endAsReported ends a job. A cancel that was accepted keeps its word, whatever the
// processes made of the signal.
func (e *entry) endAsReported(job *core.Job, report core.JobReport) {
	state := report.State
	if job.CancelledBy != "" {
		state = core.JobCancelled
	}
	e.end(job, state)
	job.Reason = core.Reason(shorten(string(report.Reason), maxReasonBytes))
	job.Message = shorten(report.Message, maxMessageBytes)
	job.ExitCode = report.ExitCode
	job.Signal = report.Signal
}
