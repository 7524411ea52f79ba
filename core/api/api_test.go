package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

func TestErrorKindsAndSentencesCrossTheWire(t *testing.T) {
	for kind := range codes {
		sent := core.Errorf(kind, "a sentence about %s", kind)
		got := fromWire(toWire(sent))
		if core.KindOf(got) != kind || got.Error() != sent.Error() {
			t.Errorf("%s arrives as %s: %v", kind, core.KindOf(got), got)
		}
	}
}

// TestRequestCutShortByAStopMayBeDone: a client must try it again elsewhere, with the
// same key.
func TestRequestCutShortByAStopMayBeDone(t *testing.T) {
	for _, cut := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := fromWire(toWire(fmt.Errorf("propose: %w", cut))); core.KindOf(got) != core.Unknown {
			t.Errorf("%v arrives as %s: %v", cut, core.KindOf(got), got)
		}
	}
}

func TestSubmitIsIdempotentByItsKey(t *testing.T) {
	r := alone(t, false)
	client, key := r.local(), NewRequestKey()
	first, err := client.Submit(t.Context(), key, []core.Submission{sleepJob(uint32(os.Getuid()))})
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Submit(t.Context(), key, []core.Submission{sleepJob(uint32(os.Getuid()))})
	if err != nil {
		t.Fatal(err)
	}
	if again.Jobs[0] != first.Jobs[0] || !again.Duplicate || first.Duplicate {
		t.Errorf("first answer %v, second %v", first, again)
	}
	jobs, err := client.Jobs(t.Context(), JobFilter{})
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs are queued (%v), want 1", len(jobs), err)
	}
}

func TestUnauthenticatedTCPReadsAndChangesNothing(t *testing.T) {
	r := alone(t, false)
	client := r.client(r.address)
	if _, err := client.Jobs(t.Context(), JobFilter{}); err != nil {
		t.Errorf("reading is refused: %v", err)
	}
	_, err := client.Submit(t.Context(), NewRequestKey(), []core.Submission{sleepJob(uint32(os.Getuid()))})
	if core.KindOf(err) != core.Denied || !strings.Contains(err.Error(), "insecure = true") {
		t.Errorf("submitting gives %v, want Denied and the remedy", err)
	}
	if err := client.Drain(t.Context(), []string{"n1"}, "test"); core.KindOf(err) != core.Denied {
		t.Errorf("draining gives %v, want Denied", err)
	}
	if _, err := client.Cancel(t.Context(), []core.JobRef{{ID: 1}}); core.KindOf(err) != core.Denied {
		t.Errorf("cancelling gives %v, want Denied", err)
	}
}

func TestWhoMayActOnWhat(t *testing.T) {
	const controllerUID = 990
	cases := []struct {
		name     string
		id       identity
		operator bool
	}{
		{"root on the socket", identity{uid: 0, trusted: true, local: true}, true},
		{"the controller's user on the socket", identity{uid: controllerUID, trusted: true, local: true}, true},
		{"another user on the socket", identity{uid: 1000, trusted: true, local: true}, false},
		{"anyone on TCP", identity{uid: 0}, false},
		{"anyone on TCP of an insecure cluster", identity{uid: 1000, trusted: true}, true},
	}
	for _, tc := range cases {
		if got := tc.id.operator(controllerUID); got != tc.operator {
			t.Errorf("%s: operator %v, want %v", tc.name, got, tc.operator)
		}
	}
}

func TestUsersCancelOnlyTheirOwnJobs(t *testing.T) {
	r := alone(t, false)
	r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(1000)}})
	owner := identity{user: "alice", uid: 1000, trusted: true, local: true}
	other := identity{user: "bob", uid: 1001, trusted: true, local: true}
	r.server.self = 990
	if err := r.server.mayCancel(other, core.JobRef{ID: 1}); core.KindOf(err) != core.Denied || !strings.Contains(err.Error(), "alice") {
		t.Errorf("another user's cancel gives %v, want Denied naming the owner", err)
	}
	if err := r.server.mayCancel(owner, core.JobRef{ID: 1}); err != nil {
		t.Errorf("the owner's cancel gives %v", err)
	}
	if err := r.server.mayCancel(other, core.JobRef{ID: 7}); core.KindOf(err) != core.NotFound {
		t.Errorf("cancelling a job that does not exist gives %v", err)
	}
}

func TestFollowerPassesWritesAndReadsToTheLeader(t *testing.T) {
	store, apply := state.New(), &sync.Mutex{}
	leader := newReplica(t, "ctl-1", store, apply, true)
	follower := newReplica(t, "ctl-2", state.New(), &sync.Mutex{}, true)
	follower.follows("ctl-1", leader.address)
	leader.agents.stdout = "hello"

	client := follower.client(follower.address)
	submitted, err := client.Submit(t.Context(), NewRequestKey(), []core.Submission{sleepJob(1000)})
	if err != nil {
		t.Fatalf("submit through the follower: %v", err)
	}
	if jobs, err := client.Jobs(t.Context(), JobFilter{}); err != nil || len(jobs) != 1 {
		t.Errorf("the follower lists %d jobs (%v), want the leader's 1", len(jobs), err)
	}
	if jobs, err := client.Jobs(t.Context(), JobFilter{Stale: true}); err != nil || len(jobs) != 0 {
		t.Errorf("the follower's own state lists %d jobs (%v), want 0", len(jobs), err)
	}
	leader.start(submitted.Jobs[0])
	var output strings.Builder
	err = client.Logs(t.Context(), core.JobRef{ID: submitted.Jobs[0]}, wire.OutputStream_OUTPUT_STREAM_STDOUT, true,
		func(_ wire.OutputStream, data []byte) error { output.Write(data); return nil })
	if err != nil || output.String() != "hello" {
		t.Errorf("output through the follower is %q (%v)", output.String(), err)
	}
	_, _, err = client.Job(t.Context(), core.JobRef{ID: 99}, false)
	if core.KindOf(err) != core.NotFound {
		t.Errorf("the leader's error arrives as %v", err)
	}
}

// TestTwoFollowersDoNotPassARequestInACircle: each takes the other for the leader.
func TestTwoFollowersDoNotPassARequestInACircle(t *testing.T) {
	a := newReplica(t, "ctl-1", state.New(), &sync.Mutex{}, true)
	b := newReplica(t, "ctl-2", state.New(), &sync.Mutex{}, true)
	for _, pair := range [][2]*replica{{a, b}, {b, a}} {
		pair[0].follows("the other", pair[1].address)
	}
	client, err := NewClient([]string{a.address}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Jobs(t.Context(), JobFilter{}); core.KindOf(err) != core.Unavailable {
		t.Errorf("got %v, want Unavailable", err)
	}
}

func TestWaitAnswersWhenTheJobIsOver(t *testing.T) {
	r := alone(t, false)
	submitted := r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(0)}}).(core.Submitted)
	id := submitted.Jobs[0]
	done := make(chan *core.Job, 1)
	go func() {
		jobs, err := r.local().Wait(context.Background(), core.JobRef{ID: id})
		if err != nil {
			t.Errorf("wait: %v", err)
			done <- nil
			return
		}
		done <- jobs[0]
	}()
	r.start(id)
	select {
	case job := <-done:
		t.Fatalf("wait answered while the job was running: %v", job.State)
	case <-time.After(50 * time.Millisecond):
	}
	r.end(id, 5)
	if job := <-done; job == nil || job.ExitCode != 5 {
		t.Errorf("wait gave %v, want exit code 5", job)
	}
}

func TestLogsMergeBothStreams(t *testing.T) {
	r := alone(t, false)
	r.agents = fakeAgents{stdout: "out", stderr: "err"}
	id := r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(0)}}).(core.Submitted).Jobs[0]
	r.start(id)
	got := map[wire.OutputStream]string{}
	err := r.local().Logs(t.Context(), core.JobRef{ID: id}, wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED, true,
		func(which wire.OutputStream, data []byte) error { got[which] += string(data); return nil })
	if err != nil || got[wire.OutputStream_OUTPUT_STREAM_STDOUT] != "out" || got[wire.OutputStream_OUTPUT_STREAM_STDERR] != "err" {
		t.Errorf("got %v (%v)", got, err)
	}
}

func TestLogsOfAPendingJobSayWhyThereAreNone(t *testing.T) {
	r := alone(t, false)
	id := r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(0)}}).(core.Submitted).Jobs[0]
	err := r.local().Logs(t.Context(), core.JobRef{ID: id}, wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED, false,
		func(wire.OutputStream, []byte) error { return nil })
	if core.KindOf(err) != core.Conflict || !strings.Contains(err.Error(), "PENDING") {
		t.Errorf("got %v, want Conflict naming the state", err)
	}
}

func TestWriterOfLogsEndsTheCall(t *testing.T) {
	r := alone(t, false)
	r.agents.stdout = "many bytes"
	id := r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(0)}}).(core.Submitted).Jobs[0]
	r.start(id)
	full := errors.New("disk full")
	err := r.local().Logs(t.Context(), core.JobRef{ID: id}, wire.OutputStream_OUTPUT_STREAM_STDOUT, true,
		func(wire.OutputStream, []byte) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v, want the writer's own error", err)
	}
}

func TestForgottenJobsAreFoundInHistory(t *testing.T) {
	r := alone(t, false)
	spec := sleepJob(0).Spec
	r.past = []*core.Job{{ID: 3, Spec: &spec, State: core.JobCompleted, Attempt: 1, SubmittedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0)}}
	jobs, payload, err := r.local().Job(t.Context(), core.JobRef{ID: 3}, false)
	if err != nil || len(jobs) != 1 || payload != nil {
		t.Errorf("got %d jobs, payload %v (%v)", len(jobs), payload, err)
	}
	live := r.must(core.SubmitJobs{RequestKey: "k", Jobs: []core.Submission{sleepJob(0)}}).(core.Submitted)
	all, _, err := r.local().History(t.Context(), HistoryFilter{})
	if err != nil || len(all) != 2 || all[0].ID != live.Jobs[0] {
		t.Errorf("history lists %d jobs (%v), want the live one first and the old one", len(all), err)
	}
}

func TestClientGoesOnToTheNextController(t *testing.T) {
	r := alone(t, false)
	client := r.client("127.0.0.1:1", "unix:"+r.socket)
	if _, err := client.Jobs(t.Context(), JobFilter{}); err != nil {
		t.Errorf("with a dead first address: %v", err)
	}
}

func TestClientWithoutControllerSaysWhatToDo(t *testing.T) {
	client, err := NewClient([]string{"unix:" + t.TempDir() + "/none"}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Jobs(t.Context(), JobFilter{})
	if core.KindOf(err) != core.Unavailable || !strings.Contains(err.Error(), "--address") {
		t.Errorf("got %v, want Unavailable and the remedy", err)
	}
}

func TestOversizedScriptIsRefused(t *testing.T) {
	r := alone(t, false)
	job := sleepJob(uint32(os.Getuid()))
	job.Payload = core.Payload{Script: []byte("#!/bin/sh\n" + strings.Repeat("#", 2<<20))}
	_, err := r.local().Submit(t.Context(), NewRequestKey(), []core.Submission{job})
	if core.KindOf(err) != core.Exhausted {
		t.Errorf("got %v, want Exhausted", err)
	}
}

func TestFullDiskRefusesJobsAndTakesCancels(t *testing.T) {
	r := alone(t, false)
	client := r.local()
	first, err := client.Submit(t.Context(), NewRequestKey(), []core.Submission{sleepJob(uint32(os.Getuid()))})
	if err != nil {
		t.Fatal(err)
	}
	r.full = core.Errorf(core.Exhausted, "the disk is full")
	_, err = client.Submit(t.Context(), NewRequestKey(), []core.Submission{sleepJob(uint32(os.Getuid()))})
	if core.KindOf(err) != core.Exhausted || err.Error() != "the disk is full" {
		t.Errorf("submitting gives %v, want why not", err)
	}
	outcomes, err := client.Cancel(t.Context(), []core.JobRef{{ID: first.Jobs[0]}})
	if err != nil || outcomes[0] != nil {
		t.Errorf("cancelling gives %v, %v", outcomes, err)
	}
}

// TestRequestDoesNotWaitForALeaderThatHangs: it has the request, and another one leads.
func TestRequestDoesNotWaitForALeaderThatHangs(t *testing.T) {
	store, apply := state.New(), &sync.Mutex{}
	old := newReplica(t, "ctl-1", store, apply, true)
	old.hangs = make(chan struct{})
	defer close(old.hangs)
	next := newReplica(t, "ctl-3", store, apply, true)
	follower := newReplica(t, "ctl-2", state.New(), &sync.Mutex{}, true)
	moves := follower.follows("ctl-1", old.address)

	done := make(chan error, 1)
	go func() {
		_, err := follower.client(follower.address).Submit(context.Background(), NewRequestKey(), []core.Submission{sleepJob(1000)})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("submitting to a leader that hangs gives %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	moves(Leader{Name: "ctl-3", APIAddress: next.address, Changed: never})
	if err := <-done; err != nil {
		t.Errorf("after another one leads, submitting gives %v", err)
	}
}
