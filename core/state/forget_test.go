package state

import (
	"math"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

func TestForgetDropsOldJobsAndRequests(t *testing.T) {
	r := newReplica(t)
	over := r.submit(job())[0]
	r.cancel(whole(over))
	waiting := r.submit(job())[0]
	got := one[core.Forgotten](r, core.Forget{EndedBefore: r.now.Add(time.Hour), HistoryIndex: math.MaxUint64})
	want(t, "forgotten", got, core.Forgotten{Jobs: 1, Requests: 2})
	if r.View().Job(over) != nil {
		t.Error("the old job is still there")
	}
	wantState(r, waiting, core.JobPending)
	want(t, "left", r.View().Counts().Total(), 1)
}

func TestForgetKeepsWhatEndedLater(t *testing.T) {
	r := newReplica(t)
	over := r.submit(job())[0]
	r.cancel(whole(over))
	got := one[core.Forgotten](r, core.Forget{EndedBefore: r.View().Job(over).EndedAt, HistoryIndex: math.MaxUint64})
	want(t, "forgotten", got.Jobs, 0)
}

func TestForgetKeepsWhatHistoryHasNot(t *testing.T) {
	r := newReplica(t)
	jobs := r.submit(job(), job())
	r.cancel(whole(jobs[0]))
	safe := r.index
	r.cancel(whole(jobs[1]))
	got := one[core.Forgotten](r, core.Forget{EndedBefore: r.now.Add(time.Hour), HistoryIndex: safe})
	want(t, "forgotten", got.Jobs, 1)
	wantState(r, jobs[1], core.JobCancelled)
}

func TestForgetSeesWhatEndedInItsEntry(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job())[0]
	results := r.apply(core.CancelJobs{Refs: []core.JobRef{whole(id)}, By: "ann"},
		core.Forget{EndedBefore: r.now.Add(time.Hour), HistoryIndex: math.MaxUint64})
	want(t, "forgotten", results[1].(core.Forgotten).Jobs, 1)
}

func TestForgottenArrayRecordLeavesElementsReachable(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "0-1")))[0]
	running := r.mustStart(id, "n1")
	r.cancel(element(id, 1)) // takes the array's own record along
	one[core.Forgotten](r, core.Forget{EndedBefore: r.now.Add(time.Hour), HistoryIndex: math.MaxUint64})
	jobs, err := r.View().Resolve(whole(id))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "left", ids(jobs), []core.JobID{running})
	want(t, "cancel", r.cancel(whole(id)), nil)
	r.report(running, core.JobCompleted)
	wantState(r, running, core.JobCancelled)
}
