package state

import (
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestReportEndsJob(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	reported := one[core.Reported](r, core.ReportJobs{Reports: []core.JobReport{{
		Job: id, Attempt: 1, State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, Message: "it said no", ExitCode: 3,
	}}})
	want(t, "ended", reported.Ended, []core.JobID{id})
	got := r.View().Job(id)
	want(t, "state", got.State, core.JobFailed)
	want(t, "exit code", got.ExitCode, 3)
	want(t, "reason", got.Reason, core.ReasonNonZeroExitCode)
	want(t, "message", got.Message, "it said no")
	want(t, "ended at", got.EndedAt, r.now)
	want(t, "free", r.View().Node("n1").Free().CPUs, 1)
	if r.View().Payload(id) != nil {
		t.Error("the payload is still there")
	}
}

func TestReportTwiceEndsOnce(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 2, 0)
	id := r.run("n1")
	r.run("n1")
	report := core.JobReport{Job: id, Attempt: 1, State: core.JobCompleted}
	reported := one[core.Reported](r, core.ReportJobs{Reports: []core.JobReport{report, report}})
	want(t, "ended", reported.Ended, []core.JobID{id})
	want(t, "jobs left", r.View().Node("n1").Jobs, 1)
}

func TestReportIgnoresWhatIsLate(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	pending := r.submit(job())[0]
	reported := one[core.Reported](r, core.ReportJobs{Reports: []core.JobReport{
		{Job: id, Attempt: 2, State: core.JobCompleted},
		{Job: id, Attempt: 0, State: core.JobCompleted},
		{Job: pending, Attempt: 0, State: core.JobCompleted},
		{Job: 99, Attempt: 1, State: core.JobCompleted},
	}})
	want(t, "ended", reported, core.Reported{})
	wantState(r, id, core.JobRunning)
}

func TestReportRefusesStateThatIsNoEnd(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	r.refused(core.Invalid, core.ReportJobs{Reports: []core.JobReport{
		{Job: id, Attempt: 1, State: core.JobCompleted},
		{Job: id, Attempt: 1, State: core.JobRunning},
	}})
}

func TestReportKeepsExitCodeOfCancelled(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	r.cancel(whole(id))
	r.apply(core.ReportJobs{Reports: []core.JobReport{{Job: id, Attempt: 1, State: core.JobFailed, Signal: 15}}})
	wantState(r, id, core.JobCancelled)
	want(t, "signal", r.View().Job(id).Signal, 15)
}
