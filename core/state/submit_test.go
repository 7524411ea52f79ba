package state

import (
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestSubmitGivesIDsInOrder(t *testing.T) {
	r := newReplica(t)
	want(t, "first", r.submit(job(), job(array(t, "0-9")), job()), []core.JobID{1, 2, 3})
	want(t, "second", r.submit(job()), []core.JobID{4})
	want(t, "next", r.View().NextJob(), 5)
}

func TestSubmitQueuesPendingJob(t *testing.T) {
	r := newReplica(t)
	spec := job(func(s *core.JobSpec) { s.Nice = 100 })
	id := r.submit(spec)[0]
	want(t, "record", r.View().Job(id), &core.Job{
		ID: 1, Spec: &spec, State: core.JobPending, Priority: core.BasePriority - 100,
		SubmittedAt: r.now, ModifyIndex: r.index,
	})
	want(t, "payload", string(r.View().Payload(id).Script), "#!/bin/sh\ntrue\n")
}

func TestSubmitArrayIsOneRecord(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job(array(t, "1-5:2%2")))[0]
	want(t, "records", arrayOf(r, id), []string{"1_[1-5:2%2] PENDING"})
	want(t, "pending", r.View().Counts().Of(core.JobPending), 3)
}

func TestSubmitAgainGivesFirstAnswer(t *testing.T) {
	r := newReplica(t)
	first := one[core.Submitted](r, submission("k", job(), job()))
	again := one[core.Submitted](r, submission("k", job(), job()))
	want(t, "again", again, core.Submitted{Jobs: first.Jobs, Duplicate: true})
	want(t, "jobs", r.View().Counts().Total(), 2)
}

func TestSubmitAgainInOneEntryGivesFirstAnswer(t *testing.T) {
	r := newReplica(t)
	results := r.apply(submission("k", job()), submission("k", job()))
	want(t, "again", results[1].(core.Submitted), core.Submitted{Jobs: []core.JobID{1}, Duplicate: true})
}

func TestSubmitIsAllOrNone(t *testing.T) {
	r := newReplica(t)
	bad := submission("k", job(), job(func(s *core.JobSpec) { s.Nodes = 0 }))
	err := r.refused(core.Invalid, bad)
	if !strings.HasPrefix(err.Error(), "submission 2 of 2: nodes must be") {
		t.Error(err)
	}
	want(t, "next", r.View().NextJob(), 1)
}

func TestSubmitRefusesWhatCannotBe(t *testing.T) {
	empty := submission("k", job())
	empty.Jobs[0].Payload = core.Payload{}
	cases := map[string]core.SubmitJobs{
		"no key":     submission("", job()),
		"long key":   submission(strings.Repeat("k", core.MaxRequestKeyBytes+1), job()),
		"no jobs":    submission("k"),
		"no payload": empty,
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { newReplica(t).refused(core.Invalid, c) })
	}
}

func TestSubmitRefusesTooMany(t *testing.T) {
	specs := make([]core.JobSpec, core.MaxSubmissions+1)
	for i := range specs {
		specs[i] = job()
	}
	newReplica(t).refused(core.Invalid, submission("k", specs...))
}
