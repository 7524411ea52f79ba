package state

import (
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestCancelEndsPendingJobAtOnce(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job())[0]
	want(t, "error", r.cancel(whole(id)), nil)
	got := r.View().Job(id)
	want(t, "state", got.State, core.JobCancelled)
	want(t, "by", got.CancelledBy, "ann")
	want(t, "ended", got.EndedAt, r.now)
	if r.View().Payload(id) != nil {
		t.Error("the payload is still there")
	}
}

func TestCancelRunningJobWaitsForReport(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	want(t, "error", r.cancel(whole(id)), nil)
	wantState(r, id, core.JobCompleting)
	want(t, "still held", r.View().Node("n1").Jobs, 1)
	r.report(id, core.JobFailed)
	wantState(r, id, core.JobCancelled)
	want(t, "freed", r.View().Node("n1").Jobs, 0)
}

func TestCancelAgainChangesNothing(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	r.cancel(whole(id))
	noted := r.View().Job(id).ModifyIndex
	want(t, "while completing", r.cancel(whole(id)), nil)
	want(t, "index", r.View().Job(id).ModifyIndex, noted)
	r.report(id, core.JobCompleted)
	want(t, "when over", r.cancel(whole(id)), nil)
}

func TestCancelNamesWhatDoesNotExist(t *testing.T) {
	r := newReplica(t)
	plain := r.submit(job())[0]
	list := r.submit(job(array(t, "0-3")))[0]
	results := one[core.Cancelled](r, core.CancelJobs{By: "ann", Refs: []core.JobRef{
		whole(9), element(9, 1), element(plain, 1), element(list, 4), whole(plain),
	}})
	for i, err := range results.Errors[:4] {
		if core.KindOf(err) != core.NotFound || err == nil {
			t.Errorf("reference %d gave %v, want not found", i, err)
		}
	}
	want(t, "the one that exists", results.Errors[4], nil)
	wantState(r, plain, core.JobCancelled)
}

func TestCancelArrayCancelsPendingAsOneRecord(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "0-4")))[0]
	running := r.mustStart(id, "n1")
	r.cancel(whole(id))
	want(t, "array", arrayOf(r, id), []string{"1_[1-4] CANCELLED", "1_0 COMPLETING"})
	want(t, "cancelled", r.View().Counts().Of(core.JobCancelled), 4)
	r.report(running, core.JobCompleted)
	want(t, "array", arrayOf(r, id), []string{"1_[1-4] CANCELLED", "1_0 CANCELLED"})
	want(t, "startable", r.View().Job(id).Startable(), 0)
	want(t, "running", r.View().Job(id).ArrayRunning, 0)
}

func TestCancelElementThatHasNotStarted(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job(array(t, "0-2")))[0]
	want(t, "error", r.cancel(element(id, 1)), nil)
	want(t, "array", arrayOf(r, id), []string{"1_[0,2] PENDING", "1_1 CANCELLED"})
	want(t, "again", r.cancel(element(id, 1)), nil)
	r.cancel(element(id, 0))
	r.cancel(element(id, 2))
	want(t, "array", arrayOf(r, id), []string{"1_0 CANCELLED", "1_1 CANCELLED", "1_2 CANCELLED"})
	want(t, "record of the last", r.View().Job(id).ArrayIndex, 2)
}

func TestCancelElementsInOneCommand(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job(array(t, "0-9")))[0]
	one[core.Cancelled](r, core.CancelJobs{By: "ann", Refs: []core.JobRef{element(id, 8), element(id, 9), whole(id)}})
	want(t, "array", arrayOf(r, id), []string{"1_[0-7] CANCELLED", "1_8 CANCELLED", "1_9 CANCELLED"})
}

func TestCancelRunningElementByIndex(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "0-2")))[0]
	r.mustStart(id, "n1")
	r.cancel(element(id, 0))
	want(t, "array", arrayOf(r, id), []string{"1_[1-2] PENDING", "1_0 COMPLETING"})
}

func TestCancelElementByItsOwnID(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "0-2")))[0]
	r.cancel(whole(r.mustStart(id, "n1")))
	want(t, "array", arrayOf(r, id), []string{"1_[1-2] PENDING", "1_0 COMPLETING"})
}

func TestCancelKeepsPayloadForTheRest(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job(array(t, "0-1")))[0]
	r.cancel(element(id, 0))
	if r.View().Payload(id) == nil {
		t.Error("the payload went with the first element")
	}
	r.cancel(element(id, 1))
	if r.View().Payload(id) != nil {
		t.Error("the payload outlived the last element")
	}
}

func TestCancelMustSayWho(t *testing.T) {
	newReplica(t).refused(core.Invalid, core.CancelJobs{})
}
