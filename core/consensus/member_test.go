package consensus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

func TestSingleServerFormsItsClusterAndKeepsWhatWasAcknowledged(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	for i := range 10 {
		if got, want := n.propose(fmt.Sprint(i)), i+1; got != want {
			t.Fatalf("result %v, want %v", got, want)
		}
	}
	id, cluster, before := n.ServerID(), n.ClusterID(), n.journal.commands()
	n.restart()
	n.awaitReady(ReadyOK)
	if diff := cmp.Diff(before, n.journal.commands()); diff != "" {
		t.Errorf("commands after restart:\n%s", diff)
	}
	if n.ServerID() != id || n.ClusterID() != cluster {
		t.Errorf("identity changed to %s of %s, was %s of %s", n.ServerID(), n.ClusterID(), id, cluster)
	}
}

func TestProposeReturnsTheMachinesRefusal(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	_, err := n.Propose(t.Context(), say("refuse me"))
	if core.KindOf(err) != core.Conflict {
		t.Fatalf("error %v of kind %v, want a conflict", err, core.KindOf(err))
	}
}

func TestConcurrentProposalsShareEntriesAndGetTheirOwnResults(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	const callers = 200
	var wg sync.WaitGroup
	results := make([]int, callers)
	for i := range callers {
		wg.Go(func() { results[i] = n.propose(fmt.Sprint(i)).(int) })
	}
	wg.Wait()
	commands := n.journal.commands()
	for i, position := range results {
		if got, want := commands[position-1], fmt.Sprint(i); got != want {
			t.Errorf("caller %d got the result of %s", i, got)
		}
	}
	if entries := n.journal.entries(); entries >= callers/2 {
		t.Errorf("%d proposals made %d entries, want them batched", callers, entries)
	}
}

func TestEntryTimesNeverGoBack(t *testing.T) {
	cfg := config(t, "solo")
	clock := time.Unix(1_000_000, 0)
	cfg.Now = func() time.Time { clock = clock.Add(-time.Hour); return clock }
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	n.propose("one")
	n.propose("two")
	first := n.journal.times[0]
	n.cfg.Now = func() time.Time { return time.Unix(1, 0) }
	n.restart()
	n.awaitReady(ReadyOK)
	n.propose("three")
	for _, at := range n.journal.times {
		if at.Before(first) {
			t.Errorf("entry at %v, after one at %v", at, first)
		}
	}
}

func TestProposeRefusesACommandThatIsTooLarge(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	_, err := n.Propose(t.Context(), say(string(make([]byte, maxCommandBytes+1))))
	if core.KindOf(err) != core.Exhausted {
		t.Fatalf("error %v, want exhausted", err)
	}
}

func TestProposeIsBoundedWhenTheMachineHangs(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	release := make(chan struct{})
	entered := make(chan struct{})
	n.journal.setTrap(func(string) error {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-release
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	_, err := n.Propose(ctx, say("slow"))
	close(release)
	if core.KindOf(err) != core.Unknown || !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v of kind %v, want unknown: the entry is in the log", err, core.KindOf(err))
	}
}

func TestSnapshotReplacesTheLogAndIsRestored(t *testing.T) {
	cfg := config(t, "solo")
	cfg.Log = Compaction{SnapshotThreshold: 20, SnapshotInterval: 20 * time.Millisecond, TrailingLogs: 5}
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	for i := range 100 {
		n.propose(fmt.Sprint(i))
	}
	eventually(t, "a snapshot", func() bool { return n.Status().SnapshotIndex > 60 })
	eventually(t, "the log to be cut", func() bool {
		first, err := n.parts.log.FirstIndex()
		return err == nil && first > 20
	})
	want := n.journal.commands()
	n.restart()
	n.awaitReady(ReadyOK)
	if diff := cmp.Diff(want, n.journal.commands()); diff != "" {
		t.Errorf("commands after restart from a snapshot:\n%s", diff)
	}
	if got := n.propose("more"); got != 101 {
		t.Errorf("next result %v, want 101", got)
	}
}

func TestSnapshotRightAfterAConfigurationEntrySucceeds(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	if err := n.raft.Load().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	n.restart()
	n.awaitReady(ReadyOK)
	if err := n.Barrier(t.Context()); err != nil {
		t.Fatalf("barrier after a snapshot that ends in a no-op: %v", err)
	}
}

func TestBarrierSeesEverythingAcknowledged(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			position := n.propose(fmt.Sprint(i)).(int)
			if err := n.Barrier(t.Context()); err != nil {
				t.Error(err)
			}
			if got := len(n.journal.commands()); got < position {
				t.Errorf("machine holds %d commands after a barrier, %d were acknowledged", got, position)
			}
		})
	}
	wg.Wait()
}

func TestClosedMemberRefusesEverything(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	n.close()
	if _, err := n.Propose(t.Context(), say("late")); core.KindOf(err) != core.Unavailable {
		t.Errorf("propose: %v, want unavailable", err)
	}
	if err := n.Barrier(t.Context()); core.KindOf(err) != core.Unavailable {
		t.Errorf("barrier: %v, want unavailable", err)
	}
	if word, ok := n.Ready(); ok || word != ReadyStopping {
		t.Errorf("ready %q, want stopping", word)
	}
	if d, dead := n.Death(); dead {
		t.Errorf("closing is a death: %+v", d)
	}
	n.Member = nil
}

func TestDataDirectoryTakesOneProcess(t *testing.T) {
	n := open(t, config(t, "solo"))
	cfg := n.cfg
	cfg.Listener = listen(t)
	defer cfg.Listener.Close() //nolint:errcheck
	if _, err := Open(cfg, &journal{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v, want ErrLocked", err)
	}
}

func TestStoreOfAnotherServerIsRefused(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.close()
	n.cfg.Name = "other"
	if err := n.reopen(); err == nil {
		t.Fatal("opened the store of another server")
	}
	n.Member = nil
}

func TestTransferLeadershipNeedsAnotherVoter(t *testing.T) {
	n := open(t, config(t, "solo"))
	n.awaitReady(ReadyOK)
	if err := n.TransferLeadership(t.Context()); core.KindOf(err) != core.Conflict {
		t.Fatalf("transfer: %v, want conflict", err)
	}
}

func TestOpenRefusesBadConfiguration(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"a name with a space":          func(c *Config) { c.Name = "a b" },
		"a name with the ID separator": func(c *Config) { c.Name = "a#b" },
		"no encoder":                   func(c *Config) { c.Encode = nil },
		"an unreachable advertise":     func(c *Config) { c.Advertise = "0.0.0.0:1" },
		"fewer peers than expected":    func(c *Config) { c.Peers = []string{"x:1", "x:1"}; c.BootstrapExpect = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, "solo")
			cfg.Listener = listen(t)
			defer cfg.Listener.Close() //nolint:errcheck
			change(&cfg)
			if _, err := Open(cfg, &journal{}); core.KindOf(err) != core.Invalid {
				t.Fatalf("error %v, want invalid", err)
			}
		})
	}
}
