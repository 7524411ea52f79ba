package scheduler

import (
	"context"
	"fmt"

	"github.com/rowelhq/rowel/core"
)

// entryWeight bounds one ApplyPlan, so that no plan makes a log entry that holds up
// others: a wait weighs 1, a start 1 and 1 for each node.
const entryWeight = 4096

// apply proposes the plan, starts first, in as many commands as its size needs. It
// stops at the first that was not, or perhaps not, applied.
func (s *Scheduler) apply(ctx context.Context, starts []core.Start, out *Outcome) error {
	began := s.clock()
	waits := s.picture.waits
	for len(starts) > 0 || len(waits) > 0 {
		plan := core.Plan{Policy: out.Policy, Cycle: out.Cycle}
		plan.Starts, plan.Waits, starts, waits = portion(starts, waits)
		if err := s.propose(ctx, plan, out); err != nil {
			return err
		}
	}
	out.Durations.Apply = s.clock().Sub(began)
	return nil
}

// portion cuts what goes into one command from what is left.
func portion(starts []core.Start, waits []core.Wait) (nowStarts []core.Start, nowWaits []core.Wait, _ []core.Start, _ []core.Wait) {
	weight, n := 0, 0
	for n < len(starts) && (n == 0 || weight+1+len(starts[n].Nodes) <= entryWeight) {
		weight += 1 + len(starts[n].Nodes)
		n++
	}
	m := 0
	if n == len(starts) {
		m = min(len(waits), max(entryWeight-weight, 0))
	}
	return starts[:n], waits[:m], starts[n:], waits[m:]
}

func (s *Scheduler) propose(ctx context.Context, plan core.Plan, out *Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.ProposeTimeout)
	defer cancel()
	result, err := s.proposer.Propose(ctx, core.ApplyPlan{Plan: plan})
	if err != nil {
		return fmt.Errorf("propose plan: %w", err)
	}
	planned, ok := result.(core.Planned)
	if !ok {
		return core.Errorf(core.Internal, "a plan was answered with %T", result)
	}
	out.Started += len(planned.Started)
	out.Refused += len(planned.Refused)
	out.Waits += len(plan.Waits)
	for _, why := range planned.Refused {
		s.log.Debug("start refused, the state has moved on", "cycle", plan.Cycle, "error", why)
	}
	return nil
}
