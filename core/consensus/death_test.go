package consensus

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

var errDisk = errors.New("input/output error")

// faultyDisk stands under the watch and fails or hangs on demand.
type faultyDisk struct {
	raft.LogStore
	raft.StableStore
	raft.SnapshotStore
	failLog, failStable, failSnapshot atomic.Bool

	mu      sync.Mutex
	blocked chan struct{} // guarded by mu; appends wait for it, nil: they do not
}

func (d *faultyDisk) wrap(p *parts) {
	d.LogStore, d.StableStore, d.SnapshotStore = p.log, p.stable, p.snapshots
	p.log, p.stable, p.snapshots = d, d, d
}

func (d *faultyDisk) IsMonotonic() bool { return true }

func (d *faultyDisk) StoreLogs(entries []*raft.Log) error {
	d.mu.Lock()
	blocked := d.blocked
	d.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	if d.failLog.Load() {
		return errDisk
	}
	return d.LogStore.StoreLogs(entries)
}

func (d *faultyDisk) SetUint64(key []byte, value uint64) error {
	if d.failStable.Load() {
		return errDisk
	}
	return d.StableStore.SetUint64(key, value)
}

func (d *faultyDisk) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, ci uint64, t raft.Transport) (raft.SnapshotSink, error) {
	if d.failSnapshot.Load() {
		return nil, errDisk
	}
	return d.SnapshotStore.Create(version, index, term, c, ci, t)
}

// block makes appends hang until the returned function is called.
func (d *faultyDisk) block() (release func()) {
	c := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocked = c
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.blocked = nil
		d.mu.Unlock()
		close(c)
	})
}

// soloOnFaultyDisk opens a server alone whose disk can fail.
func soloOnFaultyDisk(t *testing.T) (*node, *faultyDisk) {
	t.Helper()
	disk := &faultyDisk{}
	cfg := config(t, "solo")
	cfg.inject.wrap = disk.wrap
	cfg.Timing.Stall = 600 * time.Millisecond
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	return n, disk
}

// mustBeDead checks what everyone sees of a dead member.
func (n *node) mustBeDead(kind string, cause error) {
	n.t.Helper()
	death := n.awaitDeath(kind)
	if cause != nil && !errors.Is(death.Cause, cause) {
		n.t.Errorf("cause %v, want %v", death.Cause, cause)
	}
	if late := time.Since(death.Since); late > n.cfg.Timing.Stall+time.Second {
		n.t.Errorf("noticed after %s", late)
	}
	if word, ok := n.Ready(); ok || word != ReadyDead {
		n.t.Errorf("ready %q, want dead", word)
	}
	if _, err := n.Propose(n.t.Context(), say("late")); core.KindOf(err) != core.Unavailable {
		n.t.Errorf("propose after death: %v, want unavailable", err)
	}
	eventually(n.t, "leadership to be withdrawn", func() bool {
		l, _ := n.Leadership()
		return l == Leadership{}
	})
}

func TestFailingLogStoreIsDeath(t *testing.T) {
	n, disk := soloOnFaultyDisk(t)
	disk.failLog.Store(true)
	_, err := n.Propose(t.Context(), say("x"))
	if kind := core.KindOf(err); kind != core.Unknown && kind != core.Unavailable {
		t.Errorf("propose on a failing disk: %v", err)
	}
	n.mustBeDead(DeathLogStore, errDisk)
}

func TestFailingStableStoreIsDeathAndNoPanic(t *testing.T) {
	disks := map[string]*faultyDisk{}
	nodes := trioOf(t, func(c *Config) {
		disks[c.Name] = &faultyDisk{}
		c.inject.wrap = disks[c.Name].wrap
	})
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
	}
	leader := leaderOf(t, nodes)
	victim := without(nodes, leader)[0]
	disks[victim.cfg.Name].failStable.Store(true)
	if err := leader.TransferLeadership(t.Context()); err != nil { // a new term, which the victim cannot write
		t.Logf("transfer: %v", err)
	}
	victim.mustBeDead(DeathStableStore, errDisk)
	leaderOf(t, without(nodes, victim)).propose("the others go on")
}

func TestFailingSnapshotStoreIsDeath(t *testing.T) {
	n, disk := soloOnFaultyDisk(t)
	disk.failSnapshot.Store(true)
	if err := n.raft.Load().Snapshot().Error(); err == nil {
		t.Fatal("snapshot succeeded")
	}
	n.mustBeDead(DeathSnapshotStore, errDisk)
}

func TestStalledLogStoreIsUnreadyThenDeath(t *testing.T) {
	n, disk := soloOnFaultyDisk(t)
	release := disk.block()
	defer release()
	result := make(chan error, 1)
	go func() {
		_, err := n.Propose(t.Context(), say("x"))
		result <- err
	}()
	n.awaitReady(ReadyStalled)
	n.mustBeDead(DeathStalledStore, nil)
	if err := <-result; core.KindOf(err) != core.Unknown {
		t.Errorf("the proposal under way got %v, want unknown", err)
	}
}

func TestStallThatPassesIsNoDeath(t *testing.T) {
	n, disk := soloOnFaultyDisk(t)
	release := disk.block()
	defer release()
	go func() {
		eventually(t, "the stall to be seen", func() bool { word, _ := n.Ready(); return word == ReadyStalled })
		release()
	}()
	n.propose("slow")
	n.awaitReady(ReadyOK)
	if d, dead := n.Death(); dead {
		t.Errorf("died: %+v", d)
	}
}

func TestLeaderWithStalledDiskStopsHoldingTheOthersUp(t *testing.T) {
	disks := map[string]*faultyDisk{}
	nodes := trioOf(t, func(c *Config) {
		disks[c.Name] = &faultyDisk{}
		c.inject.wrap = disks[c.Name].wrap
		c.Timing.Stall = time.Second
	})
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
	}
	leader := leaderOf(t, nodes)
	leader.propose("before")
	release := disks[leader.cfg.Name].block()
	defer release()
	go func() { _, _ = leader.Propose(t.Context(), say("stuck")) }()
	leader.mustBeDead(DeathStalledStore, nil)
	leaderOf(t, without(nodes, leader)).propose("after")
}

func TestLeaderWhoseMachineHangsGivesLeadershipAway(t *testing.T) {
	nodes := trioOf(t, func(c *Config) { c.Timing.Stall = 1500 * time.Millisecond })
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
	}
	leader := leaderOf(t, nodes)
	release := make(chan struct{})
	defer close(release)
	leader.journal.setTrap(func(string) error { <-release; return nil })
	go func() { _, _ = leader.Propose(t.Context(), say("stuck")) }()
	next := leaderOf(t, without(nodes, leader))
	if _, dead := leader.Death(); dead {
		t.Error("leadership moved only after the death")
	}
	next.propose("after")
	leader.mustBeDead(DeathStalledStateMachine, nil)
}

func TestMachineThatPanicsIsDeath(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	n.journal.setTrap(func(string) error { panic("broken invariant") })
	if _, err := n.Propose(t.Context(), say("x")); core.KindOf(err) != core.Unknown && core.KindOf(err) != core.Unavailable {
		t.Errorf("propose: %v", err)
	}
	n.mustBeDead(DeathStateMachine, nil)
	if got := n.journal.commands(); len(got) != 0 {
		t.Errorf("applied %v after the panic", got)
	}
}

func TestMachineThatCannotApplyIsDeath(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	unknownCommand := errors.New("unknown command 99")
	n.journal.setTrap(func(string) error { return unknownCommand })
	_, _ = n.Propose(t.Context(), say("x"))
	n.mustBeDead(DeathStateMachine, unknownCommand)
}

func TestSnapshotThatCannotBeWrittenIsDeath(t *testing.T) {
	cfg := config(t, "solo")
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	n.fsm.machine = unwritable{n.journal}
	n.propose("x")
	_ = n.raft.Load().Snapshot().Error()
	n.mustBeDead(DeathStateMachine, errDisk)
}

// unwritable is a machine whose snapshots fail.
type unwritable struct{ *journal }

func (unwritable) Snapshot() (Snapshot, error)      { return unwritable{}, nil }
func (unwritable) WriteTo(io.Writer) (int64, error) { return 0, errDisk }

func TestRaftThatStopsByItselfIsDeath(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	n.raft.Load().Shutdown()
	n.mustBeDead(DeathRaftStopped, nil)
}

func TestStoreFileThatIsRemovedIsDeath(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	if err := os.Remove(filepath.Join(n.cfg.DataDir, storeFile)); err != nil {
		t.Fatal(err)
	}
	n.mustBeDead(DeathStoreGone, os.ErrNotExist)
}

func TestListenerThatClosesIsDeath(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	_ = n.cfg.Listener.Close()
	n.mustBeDead(DeathTransport, nil)
}

func TestMainLoopThatHangsIsDeath(t *testing.T) {
	cfg := config(t, "solo")
	cfg.Timing.Stall = 600 * time.Millisecond
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	hang := make(chan struct{})
	defer close(hang)
	node := n.raft.Load()
	node.RegisterObserver(raft.NewObserver(nil, true, func(*raft.Observation) bool {
		<-hang // on the main loop's goroutine
		return false
	}))
	node.AddNonvoter("x#1", "127.0.0.1:1", 0, time.Second)
	n.awaitReady(ReadyStalled)
	n.mustBeDead(DeathStalledMainLoop, nil)
}
