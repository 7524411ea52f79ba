package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/backfill"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

func TestGuestAnswersAsTheSameCodeDoesNatively(t *testing.T) {
	p := load(t, Embedded(), Limits{})
	for seed := range uint64(30) {
		load := float64(seed%5) / 4
		picture := sdktest.Synthetic(seed, 1+int(seed*7), int(seed*seed), load)
		picture.Cycle = seed
		got, err := p.Cycle(t.Context(), picture)
		if err != nil {
			t.Fatal(err)
		}
		want := sdk.Run(backfill.EASY, picture)
		if len(want.Nodes) == 0 {
			want.Nodes = got.Nodes // nil or empty
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
	if stats := p.Stats(); stats.Cycles != 30 || stats.Instances != 1 || stats.MemoryPages == 0 || stats.LastDuration == 0 {
		t.Errorf("the figures are %+v", stats)
	}
}

func TestCallsFromManyGoroutinesTakeTurns(t *testing.T) {
	p := load(t, Embedded(), Limits{})
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 20 {
				plan, err := p.Cycle(t.Context(), picture(seedGood))
				if err != nil || len(plan.Proposals) != 3 {
					t.Errorf("got %+v, %v", plan, err)
				}
			}
		})
	}
	done.Wait()
}

func TestCallerThatGivesUpBlamesNobody(t *testing.T) {
	limits := zooLimits
	p := load(t, zooModule, limits)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Cycle(ctx, picture(seedLoop))
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*Fault)) {
		t.Errorf("got %v", err)
	}
	if stats := p.Stats(); len(stats.Strikes) != 0 {
		t.Errorf("strikes %v", stats.Strikes)
	}
	if _, err := p.Cycle(t.Context(), picture(seedGood)); err != nil {
		t.Errorf("the next cycle: %v", err)
	}
}

func TestCallerThatWaitsItsTurnCanGiveUp(t *testing.T) {
	p := load(t, zooModule, zooLimits)
	looping, stop := context.WithCancel(t.Context())
	<-p.turn // as a call that runs holds it
	stop()
	if _, err := p.Cycle(looping, picture(seedGood)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p.release()
}

func TestStrikesOpenTheCircuitAndResetClosesIt(t *testing.T) {
	log, said := recorder()
	limits := zooLimits
	limits.Strikes = 3
	p := loadWith(t, Config{CacheDir: sharedCache, Logger: log}, zooModule, limits)
	for range 2 {
		if _, err := p.Cycle(t.Context(), picture(seedPanic)); err == nil {
			t.Fatal("no fault")
		}
	}
	if p.Open() {
		t.Fatal("open after two of three strikes")
	}
	p.Strike("oversubscription", errors.New("node n1 has no room for job 7"))
	if !p.Open() || !p.Stats().Open {
		t.Fatal("closed after three strikes")
	}
	if !strings.Contains(said.String(), "plugin circuit opened: plugin=zoo plugin_version=1.0.0") {
		t.Errorf("the log says only %s", said)
	}
	if _, err := p.Cycle(t.Context(), picture(seedGood)); err != nil {
		t.Errorf("an open circuit stops who asks all the same: %v", err)
	}
	p.Reset()
	if p.Open() {
		t.Error("open after the reset")
	}
	want := map[FaultKind]uint64{FaultTrap: 2, "oversubscription": 1}
	if diff := cmp.Diff(want, p.Stats().Strikes); diff != "" {
		t.Error(diff)
	}
}

func TestStrikesFarApartDoNotOpenTheCircuit(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(Limits{Strikes: 3, Window: time.Minute})
	b.now = func() time.Time { return now }
	for range 10 {
		if b.strike() {
			t.Fatal("opened")
		}
		now = now.Add(31 * time.Second)
	}
	now = now.Add(-31 * time.Second)
	if !b.strike() || !b.isOpen() {
		t.Error("three strikes within the window left it closed")
	}
}

func TestClosedPluginSaysSo(t *testing.T) {
	p := load(t, minimal().bytes(), Limits{})
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Cycle(t.Context(), picture(seedGood)); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestBufferOutsideMemoryIsAFault(t *testing.T) {
	for name, pointer := range map[string]int64{"beyond the end": 65536, "reaches beyond it": 65528, "not aligned": 8193} {
		t.Run(name, func(t *testing.T) {
			p := load(t, minimal().set(abi.ExportAlloc, constI32(pointer)).bytes(), Limits{})
			_, err := p.Cycle(t.Context(), picture(seedGood))
			var fault *Fault
			if !errors.As(err, &fault) || fault.Kind != FaultMalformed || !strings.Contains(err.Error(), "rowel_alloc gave a buffer") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMemoryOfEveryInstanceIsGivenBack(t *testing.T) {
	p := load(t, zooModule, zooLimits)
	before := reservations(t)
	for range 5 {
		for _, seed := range []uint64{seedPanic, seedHoard, seedExit, seedGarbage} {
			if _, err := p.Cycle(t.Context(), picture(seed)); err == nil {
				t.Fatal("no fault")
			}
		}
	}
	if _, err := p.Cycle(t.Context(), picture(seedGood)); err != nil {
		t.Fatal(err)
	}
	if after := reservations(t); after > before {
		t.Errorf("%d ranges of the size of a guest's memory are mapped, %d before", after, before)
	}
}

// reservations counts the mapped ranges that end where a guest's reserved memory would:
// neighbours are joined by the kernel, so their total size is counted.
func reservations(t *testing.T) (limits uint64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			t.Fatal(err)
		}
		if mode == "---p" && strings.HasSuffix(strings.TrimSpace(line), " 0") {
			limits += (to - from + 32<<20) / uint64(zooLimits.Memory)
		}
	}
	return limits
}

// A guest that keeps more with every cycle gets a fresh instance in time, and no strike:
// it answers every time.
func TestGuestThatGrowsIsReplacedBeforeItsLimitStopsIt(t *testing.T) {
	p := load(t, zooModule, zooLimits)
	for cycle := range 40 {
		if _, err := p.Cycle(t.Context(), picture(seedLeak)); err != nil {
			t.Fatalf("cycle %d: %v", cycle, err)
		}
	}
	if stats := p.Stats(); stats.Instances < 5 || stats.LastStrike != nil {
		t.Errorf("%d instances, last strike %v; want several and none", stats.Instances, stats.LastStrike)
	}
}
