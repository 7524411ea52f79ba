package controller

import (
	"context"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/probe"
	"github.com/rowelhq/rowel/core/supervisor"
)

// checks are what /readyz stands on.
type checks struct {
	process *probe.Check // stopping
	raft    *probe.Check // the member's own word
}

func newChecks(p *probe.Probe) checks {
	c := checks{process: p.Check("process", probe.Joining), raft: p.Check("raft", probe.Joining)}
	c.process.Set(probe.OK)
	return c
}

func (c checks) stopping() { c.process.Set(probe.Stopping) }

// readinessEvery is how often the member's word is looked at. It is kept in atomics, so
// that a look costs nothing whatever the rest is doing.
const readinessEvery = 20 * time.Millisecond

// followReadiness carries the member's word to the probe.
func (c *Controller) followReadiness(ctx context.Context) error {
	ticker := time.NewTicker(readinessEvery)
	defer ticker.Stop()
	for {
		word, _ := c.member.Ready()
		c.checks.raft.Set(probe.Word(word))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watchDeath ends the process when the core dies: probes and API say so, one line is
// logged, exit 70.
func (c *Controller) watchDeath(ctx context.Context) {
	died := make(chan supervisor.Death, 1)
	go func() {
		defer close(died)
		select {
		case death, ok := <-c.member.Died():
			if ok {
				died <- supervisor.Death{Kind: death.Kind, Cause: death.Cause, Since: death.Since}
			}
		case <-ctx.Done():
		}
	}()
	supervisor.DeathWatch{
		Logger:         c.log,
		FailProbes:     func(supervisor.Death) { c.checks.raft.Set(probe.Dead) },
		RefuseRequests: c.refuseBecause,
		Facts:          c.facts,
		Code:           core.ExitCoreDied,
		Exit:           c.Exit,
	}.Run(ctx, died)
}

func (c *Controller) facts() []any {
	status := c.member.Status()
	return []any{
		"applied_index", status.AppliedIndex, "commit_index", status.CommitIndex,
		"last_index", status.LastIndex, "term", status.Term, "state", status.State,
	}
}

// answersTime is what the answers to the requests under way get to leave the process:
// the member has settled them all by now, and who is answered need not find out by a
// time limit.
const answersTime = 50 * time.Millisecond

// refuseBecause makes the API answer nothing but why.
func (c *Controller) refuseBecause(death supervisor.Death) {
	err := core.Errorf(core.Unavailable, "controller %s is dead (%s: %w): ask another one", c.config.Name, death.Kind, death.Cause)
	c.refusal.Store(&err)
	time.Sleep(answersTime)
}

func (c *Controller) refuse() error {
	if err := c.refusal.Load(); err != nil {
		return *err
	}
	return nil
}
