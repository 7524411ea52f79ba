package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk/abi"
)

// What the zoo does with a seed.
const (
	seedGood       = 0
	seedPanic      = 1
	seedLoop       = 2
	seedExit       = 3
	seedHoard      = 4
	seedGarbage    = 5
	seedLogForever = 6
	seedZeros      = 7
	seedOutside    = 8
	seedHuge       = 9
	seedWrongJob   = 10
	seedChatter    = 11
	seedNothing    = 12
	seedRecursion  = 13
	seedBadLog     = 14
	seedLeak       = 15
)

// zooLimits leaves room for 30 MiB of zeros but not for hoarding.
var zooLimits = Limits{Memory: 128 << 20, Deadline: time.Minute, Strikes: 100}

func TestEachKindOfBadGuestIsAFaultOfItsKind(t *testing.T) {
	tests := map[string]struct {
		seed  uint64
		kind  FaultKind
		cause string
	}{
		"panic":             {seedPanic, FaultTrap, "panic: it  [31mhurts at main.go:"},
		"exit 0":            {seedExit, FaultExit, "exit code 0"},
		"memory hog":        {seedHoard, FaultMemory, "more than its 128 MiB"},
		"endless recursion": {seedRecursion, FaultMemory, "more than its 48 MiB"},
		"garbage":           {seedGarbage, FaultMalformed, "not a plan"},
		"no answer at all":  {seedNothing, FaultMalformed, "not a plan"},
		"30 MiB of zeros":   {seedZeros, FaultMalformed, "not a plan"},
		"answer outside":    {seedOutside, FaultMalformed, "outside its memory"},
		"answer of 2 GiB":   {seedHuge, FaultOutput, "the most is 33554432"},
		"job that is not":   {seedWrongJob, FaultMalformed, "names job 4000000000 of 3"},
		"endless loop":      {seedLoop, FaultDeadline, "no answer within"},
		"endless log":       {seedLogForever, FaultDeadline, "no answer within"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			limits := zooLimits
			if test.kind == FaultDeadline {
				limits.Deadline = 200 * time.Millisecond
			}
			if test.seed == seedRecursion {
				limits.Memory = 48 << 20 // to be there sooner
			}
			bad, good := load(t, zooModule, limits), load(t, zooModule, zooLimits)
			began := time.Now()
			_, err := bad.Cycle(t.Context(), picture(test.seed))
			var fault *Fault
			if !errors.As(err, &fault) || fault.Kind != test.kind || !strings.Contains(fault.Cause.Error(), test.cause) {
				t.Fatalf("got %v, want a fault of kind %s with %q", err, test.kind, test.cause)
			}
			if took := time.Since(began); test.kind == FaultDeadline && took > 5*time.Second {
				t.Errorf("a deadline of %v took %v", limits.Deadline, took)
			}
			for who, p := range map[string]*Plugin{"another plugin": good, "the same plugin": bad} {
				if _, err := p.Cycle(t.Context(), picture(seedGood)); err != nil {
					t.Errorf("%s cannot go on: %v", who, err)
				}
			}
			stats := bad.Stats()
			if stats.Cycles != 2 || stats.Instances != 2 || stats.Strikes[test.kind] != 1 || stats.LastStrike.Kind != test.kind {
				t.Errorf("the figures are %+v", stats)
			}
		})
	}
}

func TestFaultCostsWhatTheGuestRemembers(t *testing.T) {
	p := load(t, zooModule, zooLimits)
	// The zoo skips the job of the row that counts its calls: 0, 1, and after the fault 0 again.
	for i, seed := range []uint64{seedGood, seedGood, seedPanic, seedGood} {
		plan, err := p.Cycle(t.Context(), picture(seed))
		if seed == seedPanic {
			continue
		}
		want := &abi.Plan{Cycle: 42, Nodes: []uint32{}, Proposals: []abi.Proposal{
			{Kind: abi.Skip, Reason: abi.BecausePriority, Job: []uint32{0, 1, 9, 0}[i]},
		}}
		if diff := cmp.Diff(want, plan); err != nil || diff != "" {
			t.Errorf("cycle %d: %v\n%s", i, err, diff)
		}
	}
}

func TestEndlessLogIsBounded(t *testing.T) {
	log, said := recorder()
	limits := zooLimits
	limits.Deadline = 200 * time.Millisecond
	p := loadWith(t, Config{CacheDir: sharedCache, Logger: log}, zooModule, limits)
	if _, err := p.Cycle(t.Context(), picture(seedLogForever)); err == nil {
		t.Fatal("no fault")
	}
	if size := said.Len(); size > 2*maxLogBytes {
		t.Errorf("the log has %d bytes", size)
	}
	if !strings.Contains(said.String(), "policy says too much") {
		t.Error("nothing says that lines were dropped")
	}
	if strings.Contains(said.String(), "\x1b") {
		t.Error("a control character reached the log")
	}
}

func TestLogLinesBeyondTheBoundAreDroppedWithoutAFault(t *testing.T) {
	log, said := recorder()
	p := loadWith(t, Config{CacheDir: sharedCache, Logger: log}, zooModule, zooLimits)
	if _, err := p.Cycle(t.Context(), picture(seedChatter)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(said.String(), "text=chatter"); lines != maxLogLines {
		t.Errorf("%d lines, want %d", lines, maxLogLines)
	}
	if !strings.Contains(said.String(), "dropped_lines=400") {
		t.Errorf("the log does not say that 400 lines were dropped:\n%s", said)
	}
}

func TestLogLineOutsideMemoryIsHarmless(t *testing.T) {
	log, said := recorder()
	p := loadWith(t, Config{CacheDir: sharedCache, Logger: log}, zooModule, zooLimits)
	if _, err := p.Cycle(t.Context(), picture(seedBadLog)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "a line outside its memory") {
		t.Errorf("the log says only %s", said)
	}
}
