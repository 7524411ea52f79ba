package consensus

import (
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

func TestThreeServersStartedInAnyOrderFormOneCluster(t *testing.T) {
	for range 3 {
		configs := trioConfigs(t)
		order := rand.Perm(3)
		t.Logf("order %v", order)
		var nodes []*node
		for _, i := range order {
			nodes = append(nodes, open(t, configs[i]))
		}
		leader := leaderOf(t, nodes)
		leader.propose("one")
		for _, n := range nodes {
			n.awaitReady(ReadyOK)
			if n.ClusterID() != leader.ClusterID() {
				t.Errorf("%s is of cluster %s, %s of %s", n.cfg.Name, n.ClusterID(), leader.cfg.Name, leader.ClusterID())
			}
		}
		for _, n := range nodes {
			n.close()
			n.Member = nil
		}
	}
}

func TestServersWaitForAMissingPeer(t *testing.T) {
	configs := trioConfigs(t)
	missing := configs[2].Listener.Addr().String()
	_ = configs[2].Listener.Close()
	a, b := open(t, configs[0]), open(t, configs[1])
	for _, n := range []*node{a, b} {
		eventually(t, n.cfg.Name+" to name the missing peer", func() bool {
			return strings.Contains(n.Status().WaitsFor, missing) && n.log.contains(missing)
		})
		if word, ok := n.Ready(); ok || word != ReadyJoining {
			t.Errorf("%s is %q, want joining", n.cfg.Name, word)
		}
		if _, err := n.Propose(t.Context(), say("x")); core.KindOf(err) == core.Internal || err == nil {
			t.Errorf("propose before there is a cluster: %v", err)
		}
	}
	configs[2].Listener = nil
	c := open(t, configs[2])
	leaderOf(t, []*node{a, b, c}).propose("now")
	if n := strings.Count(a.log.String(), "waiting to form or join"); n > 6 {
		t.Errorf("logged the wait %d times, want once a change", n)
	}
}

func TestEmptyServersNeverFormASecondClusterBesideState(t *testing.T) {
	configs := trioConfigs(t)
	alone := configs[0]
	alone.Peers = nil
	seed := open(t, alone)
	seed.awaitReady(ReadyOK)
	seed.propose("a queued job")
	cluster := seed.ClusterID()
	seed.close()
	seed.cfg.Peers = configs[1].Peers
	if err := seed.reopen(); err != nil {
		t.Fatal(err)
	}
	b, c := open(t, configs[1]), open(t, configs[2])
	for _, n := range []*node{b, c} {
		eventually(t, n.cfg.Name+" to say which cluster there is", func() bool {
			return strings.Contains(n.Status().WaitsFor, cluster)
		})
		if n.ClusterID() != "" {
			t.Errorf("%s formed cluster %s", n.cfg.Name, n.ClusterID())
		}
	}
	seed.awaitReady(ReadyOK)
	if got := seed.journal.commands(); len(got) != 1 {
		t.Errorf("the old server holds %v", got)
	}
}

func TestWipedServerIsANewServerAndDoesNotVote(t *testing.T) {
	nodes := trio(t)
	leader := leaderOf(t, nodes)
	leader.propose("kept")
	wiped := without(nodes, leader)[0]
	old := wiped.ServerID()
	wiped.close()
	wiped.cfg.DataDir = t.TempDir()
	if err := wiped.reopen(); err != nil {
		t.Fatal(err)
	}
	if wiped.ServerID() == old {
		t.Fatal("a new store got the old ID")
	}
	eventually(t, "the wiped server to refuse the leader", func() bool { return wiped.log.contains("not " + old) })
	if wiped.raft.Load() != nil || wiped.ClusterID() != "" {
		t.Error("a wiped server runs raft")
	}
	leader.propose("with two of three")
}

func TestServerOfAnotherClusterIsRefusedWithBothIDs(t *testing.T) {
	one, other := open(t, config(t, "one")), open(t, config(t, "other"))
	one.awaitReady(ReadyOK)
	other.awaitReady(ReadyOK)
	h, err := one.hello(other.ServerID(), other.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err = one.stream.ask(other.cfg.Advertise, purposeRaft, h)
		if err == nil || !strings.Contains(err.Error(), one.ClusterID()) || !strings.Contains(err.Error(), other.ClusterID()) {
			t.Fatalf("answer %v, want a refusal that names both clusters", err)
		}
	}
	if n := strings.Count(other.log.String(), "refusing connection"); n != 1 {
		t.Errorf("logged the refusal %d times, want once", n)
	}
}

func TestConnectionMeantForAnotherServerIsRefused(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	h, err := n.hello("solo#before-the-wipe", n.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.stream.ask(n.cfg.Advertise, purposeRaft, h); err == nil || !strings.Contains(err.Error(), "before-the-wipe") {
		t.Fatalf("answer %v, want a refusal", err)
	}
}

func TestPreparedStoreTakesALaterProposal(t *testing.T) {
	configs := trioConfigs(t)
	n := open(t, configs[2])
	propose := func(cluster string) error {
		h := hello{
			ClusterName: "test", SenderID: "a#1", SenderAddress: configs[0].Advertise, TargetID: n.ServerID(),
			Propose: &proposed{Cluster: cluster, Proposer: "a#1", Servers: []server{
				{ID: "a#1", Address: configs[0].Advertise},
				{ID: "b#1", Address: configs[1].Advertise},
				{ID: n.ServerID(), Address: n.cfg.Advertise},
			}},
		}
		_, err := n.stream.ask(n.cfg.Advertise, purposePrepare, h)
		return err
	}
	for _, cluster := range []string{"first", "second"} {
		if err := propose(cluster); err != nil {
			t.Fatal(err)
		}
	}
	n.restart() // what was prepared is on disk
	if got := n.pendingCluster(); got != "second" {
		t.Fatalf("prepared for %q, want the later proposal", got)
	}
	join := hello{Cluster: "second", SenderID: "a#1", TargetID: n.ServerID()}
	stranger := join
	stranger.Cluster = "first"
	if _, err := n.stream.ask(n.cfg.Advertise, purposeRaft, stranger); err == nil {
		t.Error("joined a cluster that it is not prepared for")
	}
	if _, err := n.stream.ask(n.cfg.Advertise, purposeRaft, join); err != nil {
		t.Fatalf("join: %v", err)
	}
	if n.ClusterID() != "second" {
		t.Errorf("belongs to %q", n.ClusterID())
	}
	if err := propose("third"); err == nil {
		t.Error("a server with a cluster was prepared for another")
	}
	for _, cfg := range configs[:2] {
		_ = cfg.Listener.Close()
	}
}

func TestServersThatDisagreeOnThePeersWait(t *testing.T) {
	configs := trioConfigs(t)
	configs[1].Peers = []string{configs[0].Advertise, configs[1].Advertise, "127.0.0.1:1"}
	nodes := []*node{open(t, configs[0]), open(t, configs[1]), open(t, configs[2])}
	eventually(t, "the disagreement to be named", func() bool {
		return strings.Contains(nodes[0].Status().WaitsFor, "must be the same")
	})
	for _, n := range nodes {
		if n.ClusterID() != "" {
			t.Errorf("%s formed a cluster", n.cfg.Name)
		}
	}
}

func TestClonedStoreIsNoticed(t *testing.T) {
	configs := trioConfigs(t)
	n := open(t, configs[0])
	peer := n.describe()
	peer.Nonce = "of another process"
	if err := n.agrees("elsewhere:1", peer); err == nil || !strings.Contains(err.Error(), "copy of this server's store") {
		t.Fatalf("a clone is answered %v", err)
	}
	for _, cfg := range configs[1:] {
		_ = cfg.Listener.Close()
	}
}

func TestGarbageOnThePortHarmsNothing(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	garbage := make([]byte, 1<<20)
	for i := range garbage {
		garbage[i] = byte(rand.IntN(256))
	}
	header := append([]byte(helloMagic), helloVersion, byte(purposeRaft), 0xff, 0xff, 0xff, 0xff)
	for _, prefix := range [][]byte{nil, header, []byte("GET / HTTP/1.1\r\n\r\n")} {
		conn, err := net.Dial("tcp", n.cfg.Advertise)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Write(append(append([]byte{}, prefix...), garbage...)) // may be reset half way
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("garbage got an answer")
		}
		_ = conn.Close()
	}
	n.propose("still here")
}

func TestSilentConnectionIsClosed(t *testing.T) {
	cfg := config(t, "solo")
	cfg.Timing.Transport = 50 * time.Millisecond
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	conn, err := net.Dial("tcp", n.cfg.Advertise)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("silence got an answer")
	}
}
