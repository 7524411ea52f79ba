package consensus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
)

// memoryIdentity is an identityStore for members without a disk.
type memoryIdentity struct{ id identity }

func (m *memoryIdentity) identity() (identity, error)    { return m.id, nil }
func (m *memoryIdentity) saveIdentity(id identity) error { m.id = id; return nil }

func (m *memoryIdentity) bootstrap(id identity, _ raft.Configuration) error { m.id = id; return nil }

// virtualNode is a member in memory, for a synctest bubble.
type virtualNode struct {
	*Member
	journal   *journal
	transport *raft.InmemTransport
}

// virtualCluster opens members that are a cluster from the start.
func virtualCluster(t *testing.T, size int) []*virtualNode {
	t.Helper()
	var nodes []*virtualNode
	var servers raft.Configuration
	for i := range size {
		name := string(rune('a' + i))
		_, transport := raft.NewInmemTransport(raft.ServerAddress(name))
		nodes = append(nodes, &virtualNode{journal: &journal{}, transport: transport})
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(name + "#1"), Address: raft.ServerAddress(name)})
	}
	for i, n := range nodes {
		connect(nodes, i)
		name := string(rune('a' + i))
		store, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
		cfg := Config{Name: name, Encode: encodeText}
		cfg.inject.transport = n.transport
		cfg.inject.parts = func() (*parts, error) {
			id := identity{Format: identityFormat, Name: name, Incarnation: "1", Cluster: "virtual"}
			return &parts{
				log: store, stable: store, snapshots: snapshots, identity: &memoryIdentity{id},
				close: func() error { return nil },
			}, nil
		}
		conf := raft.DefaultConfig()
		conf.LocalID = raft.ServerID(name + "#1")
		if err := raft.BootstrapCluster(conf, store, store, snapshots, n.transport, servers); err != nil {
			t.Fatal(err)
		}
		m, err := Open(cfg, n.journal)
		if err != nil {
			t.Fatal(err)
		}
		n.Member = m
	}
	return nodes
}

// connect joins node i to every other, both ways.
func connect(nodes []*virtualNode, i int) {
	for j, other := range nodes {
		if j != i {
			nodes[i].transport.Connect(other.transport.LocalAddr(), other.transport)
			other.transport.Connect(nodes[i].transport.LocalAddr(), nodes[i].transport)
		}
	}
}

// isolate cuts node i off, both ways.
func isolate(nodes []*virtualNode, i int) {
	nodes[i].transport.DisconnectAll()
	for j, other := range nodes {
		if j != i {
			other.transport.Disconnect(nodes[i].transport.LocalAddr())
		}
	}
}

func virtualLeader(nodes []*virtualNode) (index int) {
	return slices.IndexFunc(nodes, func(n *virtualNode) bool {
		l, _ := n.Leadership()
		return l.Leading
	})
}

// awaitVirtualLeader lets virtual time pass until exactly one of the nodes leads.
func awaitVirtualLeader(t *testing.T, nodes []*virtualNode) int {
	t.Helper()
	for range 1000 {
		if i := virtualLeader(nodes); i >= 0 {
			return i
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no leader within 10 virtual seconds")
	return -1
}

func closeVirtual(t *testing.T, nodes []*virtualNode) {
	t.Helper()
	for _, n := range nodes {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := n.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func TestVirtualClusterSurvivesAnHourOfIsolations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		nodes := virtualCluster(t, 3)
		begin := time.Now()
		var acknowledged []string
		for round := 0; time.Since(begin) < time.Hour; round++ {
			leader := awaitVirtualLeader(t, nodes)
			for i := range 5 {
				text := fmt.Sprintf("%d-%d", round, i)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				if _, err := nodes[leader].Propose(ctx, say(text)); err == nil {
					acknowledged = append(acknowledged, text)
				}
				cancel()
			}
			victim := random.IntN(len(nodes))
			if random.IntN(2) == 0 {
				victim = leader
			}
			isolate(nodes, victim)
			time.Sleep(time.Duration(random.IntN(60_000)) * time.Millisecond)
			connect(nodes, victim)
			time.Sleep(time.Duration(random.IntN(20_000)) * time.Millisecond)
		}
		leader := awaitVirtualLeader(t, nodes)
		if err := nodes[leader].Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		want := nodes[leader].journal.commands()
		for _, n := range nodes {
			if diff := cmp.Diff(want, n.journal.commands()); diff != "" {
				t.Errorf("replicas differ:\n%s", diff)
			}
			if d, dead := n.Death(); dead {
				t.Errorf("%s died: %+v", n.ServerID(), d)
			}
		}
		slices.Sort(want)
		for _, text := range acknowledged {
			if _, found := slices.BinarySearch(want, text); !found {
				t.Errorf("acknowledged command %s is lost", text)
			}
		}
		if len(acknowledged) < 100 {
			t.Errorf("only %d commands were acknowledged in an hour", len(acknowledged))
		}
		closeVirtual(t, nodes)
	})
}

func TestVirtualFailoverTakesLessThanThreeElectionTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := virtualCluster(t, 3)
		old := awaitVirtualLeader(t, nodes)
		time.Sleep(time.Second)
		isolate(nodes, old)
		begin := time.Now()
		rest := slices.Delete(slices.Clone(nodes), old, old+1)
		awaitVirtualLeader(t, rest)
		if took := time.Since(begin); took > 3*500*time.Millisecond {
			t.Errorf("failover took %s of virtual time", took)
		}
		time.Sleep(time.Second)
		if l, _ := nodes[old].Leadership(); l.Leading {
			t.Error("the isolated leader still leads")
		}
		closeVirtual(t, nodes)
	})
}
