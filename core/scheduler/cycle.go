package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

// Cycle runs one whole cycle on the newest view and returns when its plan is applied.
// The policies' own faults are in the outcome. An error means that the cycle did not do
// its work: no policy answered, or the plan was not, or perhaps not, applied. Nothing
// is lost by it: the next cycle looks at the state again.
func (s *Scheduler) Cycle(ctx context.Context) (Outcome, error) {
	return s.cycle(ctx, s.view(), true)
}

// cycle answers a view. Unless it is forced, no policy is asked about a picture that
// shows what the last one showed.
func (s *Scheduler) cycle(ctx context.Context, view *state.View, force bool) (Outcome, error) {
	now := s.clock()
	at := now
	if at.Before(view.Time()) {
		at = view.Time() // a leader whose clock is behind its predecessor's
	}
	// Numbers grow in one leadership, and past those of earlier ones, as indexes do.
	s.number = max(s.number+1, view.Index())
	s.picture.draw(view, s.number, at, s.config.MaxJobs)
	out := Outcome{
		Cycle: s.number, Nodes: len(s.picture.nodes), Jobs: len(s.picture.jobs), Running: s.picture.Running.Len(),
	}
	mark := s.picture.fingerprint()
	out.Unchanged = !force && mark == s.settled
	out.Durations.Picture = s.clock().Sub(now)

	var starts []core.Start
	var failed error
	if !out.Unchanged && len(s.picture.jobs) > 0 {
		starts, failed = s.decide(ctx, &out)
	}
	if ctx.Err() == nil {
		failed = errors.Join(failed, s.apply(ctx, starts, &out))
	}
	s.settled = mark // also after a failure: Run forces the cycle that follows one
	s.record(out, failed)
	return out, failed
}

// decide asks the policy, or else the fallback, and returns what may start. Why the
// others wait is in the picture.
func (s *Scheduler) decide(ctx context.Context, out *Outcome) ([]core.Start, error) {
	began := s.clock()
	defer func() { out.Durations.Policy = s.clock().Sub(began) }()
	if !s.policy.Open() {
		starts, err := s.ask(ctx, s.policy, out)
		if err == nil || ctx.Err() != nil {
			return starts, err
		}
	}
	out.FellBack = true
	starts, err := s.ask(ctx, s.fallback, out)
	if err != nil {
		return nil, fmt.Errorf("no policy could place jobs: fallback policy %s: %w", s.fallback.Name(), err)
	}
	return starts, nil
}

// ask calls one policy and checks its whole plan. Its fault ends here, in the log and
// in the outcome, and is returned so that the caller asks another.
func (s *Scheduler) ask(ctx context.Context, policy Policy, out *Outcome) ([]core.Start, error) {
	plan, err := policy.Cycle(ctx, &s.picture.Picture)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	fault := Fault{Policy: policy.Name(), Time: s.clock()}
	if err == nil {
		s.ledger.open(&s.picture)
		wrong := s.ledger.admit(plan)
		if wrong == nil {
			out.Policy = policy.Name()
			s.ledger.waits()
			return s.ledger.starts, nil
		}
		fault.Kind, err = wrong.kind, wrong.cause
		policy.Strike(wrong.kind, wrong.cause)
	}
	fault.Text = err.Error()
	out.Fault = &fault
	s.log.Warn("policy failed, its plan for this cycle is discarded",
		"plugin", fault.Policy, "cycle", out.Cycle, "kind", fault.Kind, "error", err)
	return nil, err
}
