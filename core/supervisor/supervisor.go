package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
)

// defaultStopTimeout is how long a part may take to stop before it is left behind.
const defaultStopTimeout = 10 * time.Second

// Part is something that has to be started before the parts added after it, and stopped
// after them.
//
// Start returns when the part serves. Its ctx ends when the start is given up and, later,
// after Stop has returned: what Start leaves running may use it. Stop returns when all of
// that has ended; its ctx bounds the wait. Stop is not called if Start failed.
type Part interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Supervisor runs the parts of one process. Set it up and call Run once, all from one
// goroutine.
type Supervisor struct {
	// StopTimeout bounds the stop of each part. New sets 10 s.
	StopTimeout time.Duration

	logger  hclog.Logger
	entries []entry
}

// entry is a part with its name, and while it runs the end of its context.
type entry struct {
	name   string
	part   Part
	cancel context.CancelFunc // only Run
}

// New makes a supervisor without parts.
func New(logger hclog.Logger) *Supervisor {
	return &Supervisor{StopTimeout: defaultStopTimeout, logger: logger}
}

// Add appends a part to the order of start. The name is for logs and errors.
func (s *Supervisor) Add(name string, part Part) {
	s.entries = append(s.entries, entry{name: name, part: part})
}

// AddTask appends a function that runs until its ctx ends, as a part: it is started
// without waiting, stopped by ending its ctx, and its early return, even without an
// error, ends the process: a loop that is gone while the process lives on is the worst
// of both.
func (s *Supervisor) AddTask(name string, run func(ctx context.Context) error) {
	s.Add(name, &task{run: run})
}

// Run starts the parts and blocks until ctx is done or a part fails, then stops what it
// started in reverse order. It returns nil after an orderly stop; otherwise what failed
// first, joined with what failed while stopping. A part that does not stop in time is
// left behind and reported.
func (s *Supervisor) Run(ctx context.Context) error {
	failed := make(chan error, len(s.entries))
	started, err := s.start(ctx, failed)
	if err == nil {
		select {
		case <-ctx.Done():
			s.logger.Info("stopping")
		case err = <-failed:
		}
	}
	return errors.Join(err, s.stop(ctx, started))
}

// start starts parts until one fails or ctx is done, and returns how many it started. A
// stop that is asked for meanwhile is not an error, also when a start gives up over it.
func (s *Supervisor) start(ctx context.Context, failed chan<- error) (started int, err error) {
	for i := range s.entries {
		if ctx.Err() != nil {
			return i, nil
		}
		e := &s.entries[i]
		partCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		if t, ok := e.part.(*task); ok {
			t.failed = func(err error) { failed <- fmt.Errorf("%s: %w", e.name, err) }
		}
		giveUp := context.AfterFunc(ctx, cancel)
		err := e.part.Start(partCtx)
		stillWanted := giveUp()
		e.cancel = cancel
		if err != nil {
			cancel()
			if !stillWanted && errors.Is(err, context.Canceled) {
				return i, nil
			}
			return i, fmt.Errorf("start %s: %w", e.name, err)
		}
		s.logger.Debug("part started", "part", e.name)
	}
	return len(s.entries), nil
}

// stop stops the first started parts, last first.
func (s *Supervisor) stop(ctx context.Context, started int) error {
	var problems []error
	for i := started - 1; i >= 0; i-- {
		e := s.entries[i]
		if err := s.stopOne(context.WithoutCancel(ctx), e); err != nil {
			problems = append(problems, fmt.Errorf("stop %s: %w", e.name, err))
		}
		e.cancel()
		s.logger.Debug("part stopped", "part", e.name)
	}
	return errors.Join(problems...)
}

// stopOne gives up on a Stop that ignores its ctx.
func (s *Supervisor) stopOne(ctx context.Context, e entry) error {
	ctx, cancel := context.WithTimeout(ctx, s.StopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- e.part.Stop(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	// Whoever heeds its ctx has an answer now, and it is better than ours.
	select {
	case err := <-stopped:
		return err
	case <-time.After(s.StopTimeout / 10):
		return fmt.Errorf("still running after %v", s.StopTimeout)
	}
}

var errEndedEarly = errors.New("ended without being asked to")

// task makes a Part of a function.
type task struct {
	run    func(ctx context.Context) error
	failed func(error) // takes the reason of an early end; set before Start
	cancel context.CancelFunc
	ended  chan error // receives once: what went wrong while stopping, or nil
}

// Start starts the function in a goroutine, which Stop waits for.
func (t *task) Start(ctx context.Context) error {
	ctx, t.cancel = context.WithCancel(ctx)
	t.ended = make(chan error, 1)
	go func() {
		err := t.run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errEndedEarly
			}
			t.failed(err)
			err = nil // it is reported
		}
		if errors.Is(err, context.Canceled) {
			err = nil // it did as it was told
		}
		t.ended <- err
	}()
	return nil
}

// Stop ends the function's ctx and waits for its return.
func (t *task) Stop(ctx context.Context) error {
	t.cancel()
	select {
	case err := <-t.ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("still running: %w", ctx.Err())
	}
}
