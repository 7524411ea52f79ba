package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestHelloRegistersTheNodeAtItsRemoteAddress(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		node := r.store.View().Node("n1")
		if node.Agent != "a1" || node.Address != "192.0.2.7" || node.Capacity.CPUs != 1<<16 {
			t.Errorf("node is %+v", node)
		}
		if r.Sessions() != 1 {
			t.Errorf("%d sessions", r.Sessions())
		}
		if err := a.hangUp(); err != nil || r.Sessions() != 0 {
			t.Errorf("after the agent closed its stream: %v, %d sessions", err, r.Sessions())
		}
	})
}

func TestHelloIsChecked(t *testing.T) {
	hello := func(node *wire.RegisterNode) *wire.AgentMessage {
		return &wire.AgentMessage{Kind: &wire.AgentMessage_Hello{Hello: &wire.AgentHello{Node: node}}}
	}
	capacity := &wire.Resources{Cpus: 1}
	tests := map[string]*wire.AgentMessage{
		"another message":  {Kind: &wire.AgentMessage_Heartbeat{Heartbeat: &wire.Heartbeat{}}},
		"an empty message": {},
		"no node":          hello(nil),
		"a bad name":       hello(&wire.RegisterNode{Name: "n 1", Agent: "a", Capacity: capacity}),
		"no incarnation":   hello(&wire.RegisterNode{Name: "n1", Capacity: capacity}),
		"no CPUs":          hello(&wire.RegisterNode{Name: "n1", Agent: "a"}),
	}
	for name, message := range tests {
		t.Run(name, func(t *testing.T) {
			inRoom(t, func(t *testing.T, r *room) {
				s := newStream()
				defer s.Abort()
				go func() {
					select {
					case s.up <- message:
					case <-s.closed:
					}
				}()
				if err := r.Serve(t.Context(), "192.0.2.7:1", s); core.KindOf(err) != core.Invalid {
					t.Errorf("Serve returned %v", err)
				}
				if r.Sessions() != 0 {
					t.Error("the session stayed")
				}
			})
		})
	}
}

func TestStreamWithoutHelloIsClosed(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		s := newStream()
		defer s.Abort()
		began := time.Now()
		err := r.Serve(t.Context(), "192.0.2.7:1", s)
		if took := time.Since(began); core.KindOf(err) != core.Unavailable || took > 20*time.Second {
			t.Errorf("Serve returned %v after %v", err, took)
		}
	})
}

func TestSecondAgentOfALivingNodeIsRefused(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		a.heartbeat(1)
		synctest.Wait()
		intruder := r.dial("n1", "a2")
		if err := <-intruder.ended; core.KindOf(err) != core.Conflict {
			t.Errorf("the second agent's session ended with %v", err)
		}
		r.start("n1")
		a.launched() // the first is undisturbed
		if got := r.store.View().Node("n1").Agent; got != "a1" {
			t.Errorf("%s speaks for the node", got)
		}
	})
}

// The machine lost power: its old connection never closes, and the agent is back.
func TestRestartedAgentGetsInOnceTheOldOneIsSilent(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		old := r.connect("n1", "a1")
		time.Sleep(11 * time.Second) // more than two heartbeats
		a := r.connect("n1", "a2")
		defer a.hangUp()
		if err := <-old.ended; core.KindOf(err) != core.Conflict {
			t.Errorf("the old session ended with %v", err)
		}
		if r.Sessions() != 1 {
			t.Errorf("%d sessions", r.Sessions())
		}
		id := r.start("n1")
		if got := a.launched(); got != id {
			t.Errorf("launched job %d, want %d", got, id)
		}
	})
}

func TestSameAgentTakesOverItsOlderStreamAtOnce(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		old := r.connect("n1", "a1")
		a := r.connect("n1", "a1")
		defer a.hangUp()
		if err := <-old.ended; core.KindOf(err) != core.Conflict {
			t.Errorf("the old session ended with %v", err)
		}
		r.start("n1")
		a.launched()
	})
}

func TestSilentAgentIsGivenUp(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		for range 5 {
			time.Sleep(5 * time.Second)
			a.heartbeat(1.5)
		}
		synctest.Wait()
		if r.Sessions() != 1 || r.heart.load("n1") != 1.5 {
			t.Fatalf("%d sessions, load %v", r.Sessions(), r.heart.load("n1"))
		}
		time.Sleep(20 * time.Second)
		if err := <-a.ended; core.KindOf(err) != core.Unavailable {
			t.Errorf("session ended with %v", err)
		}
	})
}

func TestAgentThatDoesNotReadDelaysNobodyAndIsGivenUp(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		slow, quick := r.connect("n1", "a1"), r.connect("n2", "a2")
		defer quick.hangUp()
		for range 100 {
			r.start("n1")
			id := r.start("n2")
			if got := quick.launched(); got != id {
				t.Fatalf("launched job %d, want %d", got, id)
			}
			quick.report(core.JobCompleted, id)
			quick.acked()
		}
		began := time.Now()
		for slow := slow; ; slow.heartbeat(1) {
			quick.heartbeat(1)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if r.Sessions() == 1 {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatal("the slow agent is still connected after a minute")
			}
		}
		if err := <-slow.ended; core.KindOf(err) != core.Unavailable {
			t.Errorf("the slow agent's session ended with %v", err)
		}
		again := r.connect("n1", "a1") // told everything that is still true
		defer again.hangUp()
		for range 100 {
			again.launched()
		}
	})
}

func TestLostLeadershipEndsAllSessions(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a, b := r.connect("n1", "a1"), r.connect("n2", "a2")
		began := time.Now()
		r.stop()
		for _, agent := range []*agent{a, b} {
			if err := <-agent.ended; core.KindOf(err) != core.NotLeader {
				t.Errorf("session ended with %v", err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		if err := r.Serve(context.Background(), "192.0.2.7:1", newStream()); core.KindOf(err) != core.NotLeader {
			t.Errorf("Serve without leadership returned %v", err)
		}
	})
}

func TestUnacknowledgedReportIsTakenByTheNextLeadership(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		id := r.start("n1")
		a.launched()
		release := r.hold()
		a.report(core.JobCompleted, id)
		synctest.Wait()
		r.stop()
		<-a.ended
		release()
		r.lead()
		synctest.Wait()
		a = r.connect("n1", "a1", running(id)...)
		defer a.hangUp()
		a.report(core.JobCompleted, id)
		a.acked()
		a.nothing()
		if got := r.job(id).State; got != core.JobCompleted {
			t.Errorf("job is %s", got)
		}
	})
}

func TestSecondRunIsRefused(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		synctest.Wait()
		if err := r.Run(t.Context()); core.KindOf(err) != core.Conflict {
			t.Errorf("Run returned %v", err)
		}
	})
}
