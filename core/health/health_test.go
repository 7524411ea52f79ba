package health_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/health"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a real store, a proposer that stands in for consensus, a monitor under test
// and agents that send heartbeats.
type world struct {
	t       testing.TB
	store   *state.Store
	monitor *health.Monitor

	mu     sync.Mutex
	marks  []core.MarkNodes // proposed by the monitor
	refuse error            // what Propose returns instead
	skip   time.Duration    // how far the clock is ahead of the bubble's
}

func newWorld(t testing.TB, nodes ...string) *world {
	w := &world{t: t, store: state.New()}
	w.monitor = health.New(health.Config{}, w.store.View, w, w.clock, hclog.NewNullLogger())
	for _, node := range nodes {
		w.register(node, "agent-1")
	}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.skip)
}

// Propose implements health.Proposer.
func (w *world) Propose(_ context.Context, command core.Command) (core.Result, error) {
	w.mu.Lock()
	w.marks = append(w.marks, command.(core.MarkNodes))
	refuse := w.refuse
	w.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	return w.apply(command), nil
}

func (w *world) apply(command core.Command) core.Result {
	data, err := wire.EncodeCommand(command)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	results, err := w.store.Apply(w.store.View().Index()+1, time.Now(), [][]byte{data})
	if err != nil {
		w.t.Fatal(err)
	}
	if refused, ok := results[0].(error); ok {
		w.t.Fatal(refused)
	}
	return results[0]
}

func (w *world) register(node, agent string) {
	w.apply(core.RegisterNode{Name: node, Agent: agent, Capacity: core.Resources{CPUs: 1}})
}

// run starts the monitor; it stops with the test's bubble.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.monitor.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
}

// beat lets so much time go by with heartbeats from these nodes.
func (w *world) beat(d time.Duration, nodes ...string) {
	for range d / (5 * time.Second) {
		time.Sleep(5 * time.Second)
		for _, node := range nodes {
			w.monitor.Heard(node, "agent-1", 0.5)
		}
		synctest.Wait()
	}
}

func (w *world) down(node string) bool { return w.store.View().Node(node).Down }

func (w *world) proposed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.marks)
}

func bubble(t *testing.T, test func(*testing.T, *world), nodes ...string) {
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, nodes...)) })
}

func TestNodeThatIsHeardStaysUpAndCostsNoEntry(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		w.beat(time.Hour, "n1")
		if w.down("n1") || w.proposed() != 0 {
			t.Fatalf("down: %v, %d commands", w.down("n1"), w.proposed())
		}
	}, "n1")
}

func TestSilentNodeGoesDownWithAReason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		w.beat(time.Minute, "n1")
		time.Sleep(50 * time.Second)
		if w.down("n1") {
			t.Fatal("down after 50 s of silence")
		}
		time.Sleep(20 * time.Second)
		if node := w.store.View().Node("n1"); !node.Down || node.DownReason != "not heard from for 60s" {
			t.Fatalf("down: %v, reason %q", node.Down, node.DownReason)
		}
	}, "n1")
}

func TestNodesThatGoDownTogetherShareOneCommand(t *testing.T) {
	var nodes []string
	for i := range 100 {
		nodes = append(nodes, fmt.Sprintf("n%d", i))
	}
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		time.Sleep(5 * time.Minute)
		if w.proposed() != 1 || len(w.marks[0].Marks) != 100 {
			t.Fatalf("%d commands, want one with 100 marks", w.proposed())
		}
	}, nodes...)
}

func TestNodeComesBackAfterTwoHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		time.Sleep(2 * time.Minute)
		w.monitor.Heard("n1", "agent-1", 0)
		time.Sleep(4 * time.Second)
		if !w.down("n1") {
			t.Fatal("one heartbeat brought the node back")
		}
		w.monitor.Heard("n1", "agent-1", 0)
		time.Sleep(6 * time.Second)
		if w.down("n1") {
			t.Fatal("still down after two heartbeats")
		}
	}, "n1")
}

func TestHeartbeatsFarApartAreNotInARow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		time.Sleep(2 * time.Minute)
		for range 5 {
			w.monitor.Heard("n1", "agent-1", 0)
			time.Sleep(30 * time.Second)
		}
		if !w.down("n1") {
			t.Fatal("a heartbeat each 30 s brought the node back")
		}
	}, "n1")
}

func TestNewLeaderGivesEveryNodeAWholeGrace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.monitor.Heard("n1", "agent-1", 0)
		time.Sleep(time.Hour) // as a follower
		w.run()
		time.Sleep(58 * time.Second)
		if w.down("n1") || w.down("n2") {
			t.Fatal("down within the grace period")
		}
		time.Sleep(10 * time.Second)
		if !w.down("n1") || !w.down("n2") {
			t.Fatal("up after the grace period without a heartbeat")
		}
	}, "n1", "n2")
}

func TestNodeThatRegistersLateGetsItsOwnGrace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		time.Sleep(10 * time.Minute)
		w.register("n1", "agent-1")
		time.Sleep(55 * time.Second)
		if w.down("n1") {
			t.Fatal("down within its grace period")
		}
	})
}

func TestHeartbeatOfAReplacedAgentDoesNotCount(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		w.beat(time.Minute, "n1")
		w.register("n1", "agent-2")
		w.beat(2*time.Minute, "n1") // agent-1 goes on
		if !w.down("n1") {
			t.Fatal("a replaced agent keeps the node up")
		}
	}, "n1")
}

func TestControllerThatStoodStillBlamesNobody(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		w.beat(time.Minute, "n1")
		w.mu.Lock()
		w.skip = 10 * time.Minute
		w.mu.Unlock()
		time.Sleep(7 * time.Second) // the loop looks before anybody is heard
		w.beat(time.Minute, "n1")
		if w.down("n1") || w.proposed() != 0 {
			t.Fatal("a pause of the controller took its nodes down")
		}
	}, "n1")
}

func TestLostProposalIsMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.refuse = core.Errorf(core.Unavailable, "no quorum: %w", errors.New("alone"))
		w.run()
		time.Sleep(2 * time.Minute)
		if w.down("n1") {
			t.Fatal("down although nothing was applied")
		}
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		time.Sleep(6 * time.Second)
		if !w.down("n1") {
			t.Fatal("the proposal was not made again")
		}
	}, "n1")
}

func TestLastHeard(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		if _, _, ok := w.monitor.LastHeard("n1"); ok {
			t.Fatal("heard before any heartbeat")
		}
		w.monitor.Heard("n1", "agent-1", 1.5)
		w.monitor.Heard("stranger", "agent-1", 1.5)
		at, load, ok := w.monitor.LastHeard("n1")
		if !ok || load != 1.5 || !at.Equal(time.Now()) {
			t.Fatalf("heard at %v with load %v, %v", at, load, ok)
		}
		if _, _, ok := w.monitor.LastHeard("stranger"); ok {
			t.Fatal("a node that is not registered was heard")
		}
	}, "n1")
}

func TestHeardIsSafeFromManyGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.run()
		var agents sync.WaitGroup
		for _, node := range []string{"n1", "n2", "n3"} {
			agents.Go(func() {
				for range 36 {
					time.Sleep(5 * time.Second)
					w.monitor.Heard(node, "agent-1", 0)
					w.monitor.LastHeard("n1")
				}
			})
		}
		agents.Wait()
		if w.proposed() != 0 {
			t.Fatal("nodes that were heard were marked")
		}
	}, "n1", "n2", "n3")
}
