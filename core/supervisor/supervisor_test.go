package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core/supervisor"
)

// diary is what happened, in order. A part that was left behind runs beside the next one.
type diary struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// fake is a part that notes its start and stop and does as its functions say.
type fake struct {
	name  string
	notes *diary
	start func(ctx context.Context) error
	stop  func(ctx context.Context) error
}

func (f *fake) Start(ctx context.Context) error {
	f.notes.note("start " + f.name)
	if f.start != nil {
		return f.start(ctx)
	}
	return nil
}

func (f *fake) Stop(ctx context.Context) error {
	f.notes.note("stop " + f.name)
	if f.stop != nil {
		return f.stop(ctx)
	}
	return nil
}

var errBroken = errors.New("broken")

func broken(context.Context) error { return errBroken }

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRunStartsInOrderAndStopsInReverse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var notes diary
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{name: "store", notes: &notes})
	s.Add("raft", &fake{name: "raft", notes: &notes})
	s.Add("api", &fake{name: "api", notes: &notes, start: func(context.Context) error { cancel(); return nil }})
	if err := s.Run(ctx); err != nil {
		t.Errorf("Run gave %v after an orderly stop", err)
	}
	want := []string{"start store", "start raft", "start api", "stop api", "stop raft", "stop store"}
	if diff := cmp.Diff(want, notes.read()); diff != "" {
		t.Error(diff)
	}
}

func TestRunStopsWhatStartedWhenAPartCannotStart(t *testing.T) {
	var notes diary
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{name: "store", notes: &notes})
	s.Add("raft", &fake{name: "raft", notes: &notes, start: broken})
	s.Add("api", &fake{name: "api", notes: &notes})
	err := s.Run(t.Context())
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "start raft") {
		t.Errorf("Run gave %v, want the part and the reason", err)
	}
	want := []string{"start store", "start raft", "stop store"}
	if diff := cmp.Diff(want, notes.read()); diff != "" {
		t.Error(diff)
	}
}

func TestRunEndsWhenATaskFails(t *testing.T) {
	var notes diary
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{name: "store", notes: &notes})
	s.AddTask("scheduler", broken)
	s.AddTask("health", untilDone)
	err := s.Run(t.Context())
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "scheduler") {
		t.Errorf("Run gave %v, want the task and the reason", err)
	}
	if diff := cmp.Diff([]string{"start store", "stop store"}, notes.read()); diff != "" {
		t.Error(diff)
	}
}

func TestRunTakesATaskThatReturnsEarlyForAFailure(t *testing.T) {
	s := supervisor.New(hclog.NewNullLogger())
	s.AddTask("scheduler", func(context.Context) error { return nil })
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "scheduler: ended without being asked to") {
		t.Errorf("Run gave %v", err)
	}
}

func TestRunReportsWhatGoesWrongWhileStopping(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var notes diary
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{name: "store", notes: &notes, stop: broken})
	s.AddTask("flush", func(ctx context.Context) error { <-ctx.Done(); return errors.New("disk full") })
	s.Add("last", &fake{name: "last", notes: &notes, start: func(context.Context) error { cancel(); return nil }})
	err := s.Run(ctx)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "stop flush: disk full") {
		t.Errorf("Run gave %v, want both reasons", err)
	}
}

func TestRunLeavesAPartBehindThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		defer close(release)
		var notes diary
		s := supervisor.New(hclog.NewNullLogger())
		s.StopTimeout = 10 * time.Second
		s.Add("store", &fake{name: "store", notes: &notes})
		s.Add("api", &fake{name: "api", notes: &notes, stop: func(context.Context) error { <-release; return nil }})
		s.Add("last", &fake{name: "last", notes: &notes, start: func(context.Context) error { cancel(); return nil }})
		began := time.Now()
		err := s.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "stop api: still running after 10s") {
			t.Errorf("Run gave %v", err)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("stopping took %v", took)
		}
		if last := notes.read()[len(notes.read())-1]; last != "stop store" {
			t.Errorf("the last thing done was %q, want the store stopped all the same", last)
		}
	})
}

func TestRunGivesUpAStartWhenAskedToStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var notes diary
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{name: "store", notes: &notes})
	s.Add("join", &fake{name: "join", notes: &notes, start: func(ctx context.Context) error {
		cancel()
		return untilDone(ctx)
	}})
	if err := s.Run(ctx); err != nil {
		t.Errorf("Run gave %v, want no error when the start was given up on request", err)
	}
	if diff := cmp.Diff([]string{"start store", "start join", "stop store"}, notes.read()); diff != "" {
		t.Error(diff)
	}
}

func TestContextOfAPartOutlivesTheRequestToStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var notes diary
	var partCtx context.Context
	s := supervisor.New(hclog.NewNullLogger())
	s.Add("store", &fake{
		name: "store", notes: &notes,
		start: func(ctx context.Context) error { partCtx = ctx; return nil },
		stop:  func(context.Context) error { return partCtx.Err() },
	})
	s.Add("last", &fake{name: "last", notes: &notes, start: func(context.Context) error { cancel(); return nil }})
	if err := s.Run(ctx); err != nil {
		t.Errorf("the context of a part ended before its Stop: %v", err)
	}
	if partCtx.Err() == nil {
		t.Error("the context of a part did not end after its Stop")
	}
}
