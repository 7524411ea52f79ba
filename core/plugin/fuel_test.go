package plugin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

func TestEqualCyclesCostEqualFuel(t *testing.T) {
	pictures := []*abi.Picture{picture(seedGood), sdktest.Synthetic(7, 200, 1000, 0.7), sdktest.Synthetic(7, 200, 1000, 0.7)}
	var first []int64
	for run := range 3 {
		p := load(t, Embedded(), Limits{})
		var used []int64
		for _, picture := range pictures {
			if _, err := p.Cycle(t.Context(), picture); err != nil {
				t.Fatal(err)
			}
			used = append(used, p.Stats().LastFuel)
		}
		if run == 0 {
			first = used
		}
		if !slices.Equal(used, first) || slices.Min(used) < 1000 {
			t.Errorf("run %d took %v units of fuel, the first %v", run, used, first)
		}
	}
}

func TestGuestThatIsOutOfFuelIsStopped(t *testing.T) {
	limits := zooLimits
	limits.Fuel = 5_000_000
	p := load(t, zooModule, limits)
	for range 2 { // as it starts, and when it has run before
		if _, err := p.Cycle(t.Context(), picture(seedGood)); err != nil {
			t.Fatal(err)
		}
		_, err := p.Cycle(t.Context(), picture(seedLoop))
		var fault *Fault
		if !errors.As(err, &fault) || fault.Kind != FaultFuel || !strings.Contains(err.Error(), "no answer within 5000000 units of fuel") {
			t.Fatalf("got %v", err)
		}
		if used := p.Stats().LastFuel; used < limits.Fuel || used > limits.Fuel+1000 {
			t.Errorf("it used %d units of %d", used, limits.Fuel)
		}
	}
	if stats := p.Stats(); stats.Strikes[FaultFuel] != 2 || stats.FuelLimit != limits.Fuel {
		t.Errorf("the figures are %+v", stats)
	}
}

func TestLimitOfFuelIsExact(t *testing.T) {
	// Each function of this module is one unit: version and describe, then alloc and cycle. Its
	// answer is none, so the second cycle is on a new instance and has version to pay for too.
	p := load(t, minimal().bytes(), Limits{Fuel: 2})
	for i, want := range []FaultKind{FaultMalformed, FaultFuel} {
		_, err := p.Cycle(t.Context(), picture(seedGood))
		var fault *Fault
		if used := p.Stats().LastFuel; !errors.As(err, &fault) || fault.Kind != want || used != int64(2+i) {
			t.Errorf("%d units, %v; want a fault of kind %s", used, err, want)
		}
	}
	err := refuse(t, minimal().bytes(), Limits{Fuel: 1})
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != FaultFuel {
		t.Errorf("two functions on one unit: %v", err)
	}
}

func TestGuestThatIsOutOfFuelAsItStartsIsRefused(t *testing.T) {
	err := refuse(t, minimal().set(abi.ExportInitialize, forever).bytes(), Limits{Fuel: 1000})
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != FaultStart || !strings.Contains(err.Error(), "it does not start: no answer within 1000 units of fuel") {
		t.Errorf("got %v", err)
	}
}

func TestDeadlineHoldsWhileMemoryIsFilled(t *testing.T) {
	// loop; memory.fill 64 MiB; br 0
	fill := join([]byte{0x03, 0x40}, constI32(0), constI32(0), constI32(64<<20), []byte{0xfc, 0x0b, 0x00, 0x0c, 0x00, 0x0b, 0x00})
	a := minimal().set(abi.ExportPolicyCycle, fill)
	a.pages = 1024
	p := load(t, a.bytes(), Limits{Deadline: 100 * time.Millisecond})
	began := time.Now()
	_, err := p.Cycle(t.Context(), picture(seedGood))
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != FaultDeadline || time.Since(began) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestHostCollectsGarbageWhileAGuestLoops(t *testing.T) {
	p := load(t, zooModule, zooLimits)
	if longest := collectWhileLooping(t, p, 5); longest > time.Second {
		t.Errorf("a collection took %v", longest)
	}
}

// collectWhileLooping returns how long the longest of so many collections took while the
// plugin's guest was in an endless loop.
func collectWhileLooping(t testing.TB, p *Plugin, times int) (longest time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.Cycle(ctx, picture(seedLoop))
		done <- err
	}()
	for len(p.turn) > 0 {
		runtime.Gosched()
	}
	for range times {
		began := time.Now()
		runtime.GC()
		longest = max(longest, time.Since(began))
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the loop ended before: %v", err)
	}
	return longest
}

func TestRandomNumbersAreTheSameInEveryInstance(t *testing.T) {
	var drawn [2][]byte
	for i := range drawn {
		var meter tank
		meter.begin(t.Context(), Limits{Deadline: time.Minute})
		drawn[i] = make([]byte, 3<<20)
		if _, err := io.ReadFull(newRandom(&meter), drawn[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(drawn[0], drawn[1]) {
		t.Error("they differ")
	}
}

func TestHostFunctionsKeepTheDeadline(t *testing.T) {
	var over tank
	over.begin(t.Context(), Limits{Deadline: -1})
	for name, f := range map[string]func(){
		"random_get": func() { _, _ = newRandom(&over).Read(nil) },
		"fd_write":   func() { _, _ = printer{&output{tank: &over}}.Write(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != errDeadline {
					t.Errorf("it goes on beyond the deadline: %v", r)
				}
			}()
			f()
		})
	}
}
