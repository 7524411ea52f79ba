package scheduler

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowelhq/rowel/core"
)

// shortCycle is how long a cycle may take without a pause after it.
const shortCycle = 5 * time.Millisecond

// Run schedules until ctx is done, and then returns nil. It is a task of the leader: a
// cycle runs at once when the state changes, none runs while nothing does, and long
// ones take at most half of the time.
func (s *Scheduler) Run(ctx context.Context) error {
	force := true // a new leader does not know what was decided last
	failures := retries{first: s.config.RetryInterval, most: s.config.RetryMost}
	for {
		view := s.view()
		out, err := s.cycle(ctx, view, force)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.report(err, &failures)
			if !sleep(ctx, failures.next()) {
				return nil
			}
			force = true
			continue
		}
		failures.reset()
		if took := out.Durations.Picture + out.Durations.Policy; took > shortCycle && !sleep(ctx, took) {
			return nil
		}
		if force, err = s.idle(ctx, view.Changed(), out.Jobs > 0); err != nil {
			return nil
		}
	}
}

// idle waits for the next view, or, while jobs are waiting, until time alone may have
// made room for one: then the next cycle is forced. An error means that ctx is done.
func (s *Scheduler) idle(ctx context.Context, changed <-chan struct{}, waiting bool) (force bool, _ error) {
	var safety <-chan time.Time
	if waiting {
		timer := time.NewTimer(s.config.SafetyInterval)
		defer timer.Stop()
		safety = timer.C
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-changed:
		return false, nil
	case <-safety:
		return true, nil
	}
}

// report logs a failed cycle once, until it fails in another way or succeeds.
func (s *Scheduler) report(err error, failures *retries) {
	if text := err.Error(); text != failures.reported {
		failures.reported = text
		switch core.KindOf(err) {
		case core.Unavailable, core.NotLeader, core.Unknown:
			s.log.Warn("plan not applied, looking at the state again", "error", err)
		default:
			s.log.Error("no jobs are started until this is resolved, retrying", "error", err)
		}
	}
}

// retries spaces attempts and remembers what was last said of them.
type retries struct {
	first, most time.Duration
	pause       time.Duration
	reported    string
}

// next returns how long to wait: twice the last time, up to a quarter less at random.
func (r *retries) next() time.Duration {
	r.pause = min(max(2*r.pause, r.first), r.most)
	return r.pause - rand.N(r.pause/4+1)
}

func (r *retries) reset() { r.pause, r.reported = 0, "" }

// sleep waits, or returns false when ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
