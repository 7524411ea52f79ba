package scheduler

import (
	"fmt"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/sdk/abi"
)

// The kinds of illegal proposal. They name a strike in logs and metrics.
const (
	strikeMalformed        = "malformed-plan"
	strikeUnknownKind      = "unknown-kind"
	strikeUnknownReason    = "unknown-reason"
	strikeUnknownJob       = "unknown-job"
	strikeWrongNodes       = "wrong-nodes"
	strikeDuplicateStart   = "duplicate-start"
	strikeOversubscription = "oversubscription"
)

// illegal is why a plan was thrown away.
type illegal struct {
	kind  string
	cause error
}

func breach(kind, format string, args ...any) *illegal {
	return &illegal{kind: kind, cause: fmt.Errorf(format, args...)}
}

// ledger is the core's own running account of one plan: what is left on the nodes and
// of the records while its proposals are admitted in their order. Its buffers are
// reused by the next plan.
type ledger struct {
	picture *picture
	left    []core.Resources // by node row
	started []uint32         // by job row
	told    []core.Reason    // by job row: what the policy said of it
	seenBy  []uint32         // by node row: the last proposal that named it, from 1

	starts []core.Start
}

// open starts an account of the picture as drawn.
func (l *ledger) open(p *picture) {
	l.picture = p
	l.left = append(l.left[:0], p.free...)
	l.started = zeroed(l.started, len(p.jobs))
	l.told = zeroed(l.told, len(p.jobs))
	l.seenBy = zeroed(l.seenBy, len(p.nodes))
	l.starts = nil // handed out
}

// admit turns a policy's whole plan into the core's, or says which proposal is illegal.
func (l *ledger) admit(plan *abi.Plan) *illegal {
	if plan == nil || plan.Cycle != l.picture.Cycle {
		return breach(strikeMalformed, "the plan does not answer cycle %d", l.picture.Cycle)
	}
	for i, proposal := range plan.Proposals {
		if uint64(proposal.Job) >= uint64(len(l.picture.jobs)) {
			return breach(strikeUnknownJob, "proposal %d names job %d of %d", i, proposal.Job, len(l.picture.jobs))
		}
		if end := uint64(proposal.FirstNode) + uint64(proposal.NodeCount); end > uint64(len(plan.Nodes)) {
			return breach(strikeMalformed, "proposal %d names nodes outside its plan", i)
		}
		var wrong *illegal
		switch proposal.Kind {
		case abi.Start:
			wrong = l.start(proposal.Job, plan.NodesOf(proposal), uint32(i+1))
		case abi.Skip:
			wrong = l.skip(proposal.Job, proposal.Reason)
		case abi.Reserve:
			l.tell(proposal.Job, core.ReasonResources)
		default:
			wrong = breach(strikeUnknownKind, "proposal %d has the unknown kind %d", i, proposal.Kind)
		}
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

// start takes a job's share out of each of its nodes. number tells this proposal from
// the others.
func (l *ledger) start(job uint32, rows []uint32, number uint32) *illegal {
	c := &l.picture.jobs[job]
	if l.started[job] == c.count {
		return breach(strikeDuplicateStart, "job %s is started more than %s", c.job.DisplayID(), count(c.count, "time"))
	}
	if uint32(len(rows)) != c.job.Spec.Nodes {
		return breach(strikeWrongNodes, "job %s is started on %d nodes and asks for %d", c.job.DisplayID(), len(rows), c.job.Spec.Nodes)
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		if uint64(row) >= uint64(len(l.picture.nodes)) {
			return breach(strikeWrongNodes, "job %s is started on node %d of %d", c.job.DisplayID(), row, len(l.picture.nodes))
		}
		name := l.picture.nodes[row].Name
		switch {
		case l.seenBy[row] == number:
			return breach(strikeWrongNodes, "job %s is started twice on node %s", c.job.DisplayID(), name)
		case !l.picture.shapes.has(c.set, row):
			return breach(strikeWrongNodes, "job %s may not run on node %s", c.job.DisplayID(), name)
		case !c.need.FitsIn(l.left[row]):
			return breach(strikeOversubscription, "job %s needs %v on node %s, which has %v left", c.job.DisplayID(), c.need, name, l.left[row])
		}
		l.seenBy[row] = number
		l.left[row] = l.left[row].Minus(c.need)
		names[i] = name
	}
	l.started[job]++
	l.starts = append(l.starts, core.Start{Job: c.job.ID, Nodes: names})
	return nil
}

func (l *ledger) skip(job uint32, because abi.SkipReason) *illegal {
	switch because {
	case abi.BecauseResources:
		l.tell(job, core.ReasonResources)
	case abi.BecausePriority:
		l.tell(job, core.ReasonPriority)
	default:
		return breach(strikeUnknownReason, "job %s is skipped for the unknown reason %d", l.picture.jobs[job].job.DisplayID(), because)
	}
	return nil
}

// tell keeps the first reason that the policy gives for a job.
func (l *ledger) tell(job uint32, reason core.Reason) {
	if l.told[job] == core.ReasonNone {
		l.told[job] = reason
	}
}

// waits notes in the picture what the admitted plan says of the records that stay.
func (l *ledger) waits() {
	for row := range l.picture.jobs {
		c := &l.picture.jobs[row]
		switch reason := l.told[row]; {
		case l.started[row] == c.count:
		case reason == core.ReasonResources:
			l.picture.wait(c.job, verdict{reason, "waits until " + needs(c) + " are free"})
		case reason != core.ReasonNone:
			l.picture.wait(c.job, verdict{reason: reason})
		case stale(c.job):
			l.picture.wait(c.job, verdict{})
		}
	}
}

func needs(c *candidate) string {
	if c.job.Spec.Nodes == 1 {
		return c.need.String() + " on one node"
	}
	return fmt.Sprintf("%v on each of %d nodes", c.need, c.job.Spec.Nodes)
}

func zeroed[T any](s []T, size int) []T {
	if cap(s) < size {
		return make([]T, size)
	}
	s = s[:size]
	clear(s)
	return s
}
