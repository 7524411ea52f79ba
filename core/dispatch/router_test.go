package dispatch_test

import (
	"testing"
	"testing/synctest"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

func TestStartedJobIsLaunchedOnceWithItsPayload(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		launch := a.next().GetLaunch()
		if launch.GetJob().GetId() != uint64(id) || launch.GetJob().GetAttempt() != 1 || launch.GetPayload().GetArgv()[0] != "/bin/true" {
			t.Errorf("launch is %v", launch)
		}
		r.submit(1) // another change of the state
		a.nothing()
	})
}

func TestJobStartedBeforeItsAgentCameIsLaunched(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		r.node("n1")
		id := r.start("n1")
		a := r.connect("n1", "a1")
		defer a.hangUp()
		if got := a.launched(); got != id {
			t.Errorf("launched job %d, want %d", got, id)
		}
	})
}

func TestJobOfSeveralNodesIsLaunchedOnItsFirst(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		first, second := r.connect("n1", "a1"), r.connect("n2", "a2")
		defer first.hangUp()
		defer second.hangUp()
		id := r.start("n1", "n2")
		if got := first.launched(); got != id {
			t.Errorf("launched job %d, want %d", got, id)
		}
		second.nothing()
	})
}

func TestReconnectedAgentThatRunsTheJobIsToldNothing(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		id := r.start("n1")
		a.launched()
		a.hangUp()
		a = r.connect("n1", "a1", running(id)...)
		defer a.hangUp()
		a.nothing()
	})
}

func TestReconnectedAgentThatLacksTheJobIsToldAgain(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		id := r.start("n1")
		a.launched()
		a.hangUp()
		a = r.connect("n1", "a2")
		defer a.hangUp()
		if got := a.launched(); got != id {
			t.Errorf("launched job %d, want %d", got, id)
		}
	})
}

func TestCancelTerminatesOnce(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		r.cancel(id)
		terminate := a.next().GetTerminate()
		if terminate.GetJob() != uint64(id) || terminate.GetAttempt() != 1 || terminate.GetWhy() != "cancelled by ada" {
			t.Errorf("terminate is %v", terminate)
		}
		r.cancel(id)
		a.nothing()
		a.report(core.JobFailed, id)
		a.acked()
		a.nothing()
		if got := r.job(id).State; got != core.JobCancelled {
			t.Errorf("job is %s", got)
		}
	})
}

func TestJobCancelledWhileItsAgentWasAwayIsTerminated(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		id := r.start("n1")
		a.launched()
		a.hangUp()
		r.cancel(id)
		a = r.connect("n1", "a1", running(id)...)
		defer a.hangUp()
		if got := a.terminated(); got != id {
			t.Errorf("terminated job %d, want %d", got, id)
		}
		a.nothing()
	})
}

// Such a job would be COMPLETING for ever: no agent knows it, so none reports its end.
func TestJobCancelledBeforeItsAgentHeardOfItEnds(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		r.node("n1")
		id := r.start("n1")
		r.cancel(id)
		a := r.connect("n1", "a1")
		defer a.hangUp()
		a.nothing()
		if job := r.job(id); job.State != core.JobCancelled || job.Message == "" {
			t.Errorf("job is %s, %q", job.State, job.Message)
		}
	})
}

func TestNodeFailTerminatesWhatStillRuns(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		r.apply(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "silent"}}})
		if got := a.terminated(); got != id {
			t.Errorf("terminated job %d, want %d", got, id)
		}
		a.nothing()
	})
}

func TestReconnectTerminatesWhatTheStateGaveUp(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		id := r.start("n1")
		a.launched()
		a.hangUp()
		r.apply(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "silent"}}})
		const unknown = 99
		a = r.connect("n1", "a1", running(id, unknown)...)
		defer a.hangUp()
		if first, second := a.terminated(), a.terminated(); first != id || second != unknown {
			t.Errorf("terminated jobs %d and %d, want %d and %d", first, second, id, unknown)
		}
		a.report(core.JobCompleted, id)
		if got := a.acked(); len(got) != 1 || got[0] != id {
			t.Errorf("acknowledged %v", got)
		}
		if got := r.job(id).State; got != core.JobNodeFail {
			t.Errorf("the late report made the job %s", got)
		}
	})
}

func TestJobThatEndedByItselfIsNotTerminated(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		a.report(core.JobCompleted, id)
		a.acked()
		a.nothing()
	})
}

func TestRestoredStateEndsSessions(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		backup := state.New().View()
		r.mu.Lock()
		r.shown = backup
		r.mu.Unlock()
		r.node("n2") // closes the old view's channel, as a restore does
		if err := <-a.ended; core.KindOf(err) != core.Unavailable {
			t.Errorf("session ended with %v", err)
		}
		synctest.Wait()
		if n := r.Sessions(); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}
