package consensus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

func TestThreeServersReplicate(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	for i := range 20 {
		leader.propose(fmt.Sprint(i))
	}
	want := leader.journal.commands()
	for _, n := range nodes {
		eventually(t, "every replica to hold every command", func() bool { return len(n.journal.commands()) == 20 })
		if diff := cmp.Diff(want, n.journal.commands()); diff != "" {
			t.Errorf("%s differs:\n%s", n.cfg.Name, diff)
		}
		if n.ClusterID() != leader.ClusterID() {
			t.Errorf("%s is of cluster %s, the leader of %s", n.cfg.Name, n.ClusterID(), leader.ClusterID())
		}
	}
	if got := len(leader.Status().Servers); got != 3 {
		t.Errorf("configuration has %d servers, want 3", got)
	}
}

func TestFollowerPointsToTheLeader(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	follower := without(nodes, leader)[0]
	if _, err := follower.Propose(t.Context(), say("x")); core.KindOf(err) != core.NotLeader {
		t.Errorf("propose on a follower: %v, want not leader", err)
	}
	if err := follower.Barrier(t.Context()); core.KindOf(err) != core.NotLeader {
		t.Errorf("barrier on a follower: %v, want not leader", err)
	}
	l, _ := follower.Leadership()
	want := Leadership{LeaderID: leader.ServerID(), LeaderName: leader.cfg.Name, LeaderAddress: leader.cfg.Advertise, Term: l.Term}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("leadership as a follower sees it:\n%s", diff)
	}
}

func TestNothingAcknowledgedIsLostWhenTheLeaderGoes(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	var mu sync.Mutex
	var acknowledged []string
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%d-%d", w, i)
				if _, err := leader.Propose(t.Context(), say(text)); err != nil {
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, text)
				mu.Unlock()
			}
		})
	}
	eventually(t, "some acknowledged commands", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) > 200
	})
	leader.close()
	wg.Wait()
	rest := without(nodes, leader)
	next := leaderOf(t, rest)
	if err := next.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	have := next.journal.commands()
	slices.Sort(have)
	for _, text := range acknowledged {
		if _, found := slices.BinarySearch(have, text); !found {
			t.Errorf("acknowledged command %s is lost", text)
		}
	}
	next.propose("after failover")
	leader.Member = nil
}

func TestFollowersStayReadyWhileTheyElect(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	rest := without(nodes, leader)
	leader.close()
	leader.Member = nil
	eventually(t, "a new leader, with the follower ready all the time", func() bool {
		ready := 0
		for _, n := range rest {
			if _, ok := n.Ready(); ok {
				ready++
			}
		}
		if ready == 0 {
			t.Fatal("no server is ready during failover")
		}
		for _, n := range rest {
			if l, _ := n.Leadership(); l.Leading {
				return true
			}
		}
		return false
	})
}

func TestIsolatedLeaderStepsDownAndIsNotReady(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	for _, n := range without(nodes, leader) {
		n.close()
		n.Member = nil
	}
	eventually(t, "the leader to notice that it is alone", func() bool {
		l, _ := leader.Leadership()
		word, ok := leader.Ready()
		return !l.Leading && !ok && word == ReadyNoLeader
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := leader.Barrier(ctx); err == nil {
		t.Error("an isolated server confirmed a read")
	}
}

func TestLeadershipTransferIsSeenByEveryone(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	_, changed := leader.Leadership()
	if err := leader.TransferLeadership(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-changed
	next := leaderOf(t, without(nodes, leader))
	next.propose("under the new leader")
	eventually(t, "the old leader to follow", func() bool {
		l, _ := leader.Leadership()
		return l.LeaderName == next.cfg.Name
	})
}

func TestRestartedServersFindEachOtherWithTheirOwnStores(t *testing.T) {
	nodes := trio(t)
	leaderOf(t, nodes).propose("before")
	cluster := nodes[0].ClusterID()
	for _, n := range nodes {
		n.close()
	}
	for _, n := range nodes {
		if err := n.reopen(); err != nil {
			t.Fatal(err)
		}
	}
	leader := leaderOf(t, nodes)
	if got := leader.propose("after"); got != 2 {
		t.Errorf("second command is number %v", got)
	}
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
		if n.ClusterID() != cluster {
			t.Errorf("%s changed to cluster %s", n.cfg.Name, n.ClusterID())
		}
	}
}

func TestLaggingFollowerIsCaughtUpBySnapshot(t *testing.T) {
	nodes := trioOf(t, func(c *Config) {
		c.Log = Compaction{SnapshotThreshold: 20, SnapshotInterval: 20 * time.Millisecond, TrailingLogs: 5}
	})
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
	}
	leader := leaderOf(t, nodes)
	late := without(nodes, leader)[0]
	late.close()
	for i := range 200 {
		leader.propose(fmt.Sprint(i))
	}
	eventually(t, "the log to be cut", func() bool { return leader.Status().SnapshotIndex > 100 })
	if err := late.reopen(); err != nil {
		t.Fatal(err)
	}
	late.awaitReady(ReadyOK)
	eventually(t, "the late follower to hold everything", func() bool { return len(late.journal.commands()) == 200 })
	late.restart()
	late.awaitReady(ReadyOK)
	if diff := cmp.Diff(leader.journal.commands(), late.journal.commands()); diff != "" {
		t.Errorf("late follower differs after a restart:\n%s", diff)
	}
}

func TestRemovedServerSaysSo(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	if err := leader.raft.Load().RemoveServer(raft.ServerID(leader.ServerID()), 0, time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	leader.awaitReady(ReadyRemoved)
	if d, dead := leader.Death(); dead {
		t.Errorf("removal is a death: %+v", d)
	}
	leaderOf(t, without(nodes, leader)).propose("without it")
}

func TestHeartbeatsGoThroughTheMainLoop(t *testing.T) {
	inner := &handlerRecorder{}
	guarded := guardTransport(inner, newProgress(), newMortality(func() {}))
	defer guarded.stop()
	guarded.SetHeartbeatHandler(func(raft.RPC) {})
	if inner.set {
		t.Error("the heartbeat fast path is on: replicas can diverge (hashicorp/raft#695)")
	}
	if _, err := guarded.AppendEntriesPipeline("", ""); err != raft.ErrPipelineReplicationNotSupported { //nolint:errorlint // raft compares so
		t.Errorf("pipeline: %v, want none", err)
	}
}

// handlerRecorder is a transport that notes whether a heartbeat handler reached it.
type handlerRecorder struct {
	raft.Transport
	set bool
}

func (h *handlerRecorder) SetHeartbeatHandler(func(raft.RPC)) { h.set = true }
func (h *handlerRecorder) Consumer() <-chan raft.RPC          { return nil }
