package state

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

// newRandom returns a source of random commands and prints its seed.
func newRandom(t testing.TB) *random {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to see this again: go test ./core/state -run '^%s$' -seed %d", t.Name(), seed)
	return &random{Rand: rand.New(rand.NewPCG(seed, 0))}
}

// random makes commands that often succeed, and often do not, in a given state.
type random struct {
	*rand.Rand
	keys int
}

var (
	nodeNames  = []string{"n1", "n10", "n2", "n3", "n4"}
	arrayTexts = []string{"0", "0-3", "1,3,5-6", "0-5%2", "2-6:2%1"}
	endStates  = []core.JobState{
		core.JobCompleted, core.JobFailed, core.JobTimeout, core.JobCancelled, core.JobOutOfMemory, core.JobNodeFail,
	}
)

func pick[T any](r *random, from []T) T { return from[r.IntN(len(from))] }

// entry returns up to six commands for the state of v.
func (r *random) entry(t testing.TB, v *View) []core.Command {
	commands := make([]core.Command, 0, 6)
	for range r.IntN(7) {
		commands = append(commands, r.command(t, v))
	}
	return commands
}

func (r *random) command(t testing.TB, v *View) core.Command {
	switch n := r.IntN(100); {
	case n < 14:
		return r.submitJobs(t)
	case n < 54:
		return core.ApplyPlan{Plan: r.plan(v)}
	case n < 77:
		return r.reportJobs(v)
	case n < 87:
		return r.cancelJobs(v)
	case n < 91:
		return core.RegisterNode{Name: pick(r, nodeNames), Agent: fmt.Sprint(r.IntN(9)), Capacity: core.Resources{
			CPUs: uint32(r.IntN(30)), MemoryMiB: uint64(r.IntN(3000)),
		}, Labels: map[string]string{"a": "1", "b": fmt.Sprint(r.IntN(3)), "c": "3"}}
	case n < 94:
		return core.DrainNode{Name: pick(r, nodeNames), Drain: r.IntN(3) == 0, Reason: "because", By: "ann"}
	case n < 96:
		return r.markNodes()
	case n < 99:
		return core.Forget{EndedBefore: r.before(v), HistoryIndex: v.Index() - min(v.Index(), uint64(r.IntN(10)))}
	}
	return core.AnnounceMember{Member: core.Member{ServerID: fmt.Sprint("m", r.IntN(3)), APIAddress: fmt.Sprint(r.IntN(9))}}
}

func (r *random) submitJobs(t testing.TB) core.Command {
	if r.IntN(10) > 0 || r.keys == 0 {
		r.keys++
	}
	var specs []core.JobSpec
	for range r.IntN(4) {
		spec := job()
		spec.Nodes = uint32(r.IntN(30)+8) / 10 // sometimes 0, mostly 1 or 2
		spec.Tasks = spec.Nodes + uint32(r.IntN(3))
		spec.MemoryMiB = uint64(r.IntN(100))
		spec.Nice = uint32(r.IntN(5))
		if r.IntN(3) == 0 {
			array(t, pick(r, arrayTexts))(&spec)
		}
		specs = append(specs, spec)
	}
	return submission(fmt.Sprint("key-", r.keys), specs...)
}

func (r *random) plan(v *View) core.Plan {
	plan := core.Plan{Policy: "random@1", Cycle: r.Uint64N(1000)}
	pending := slices.Collect(v.Pending())
	for range r.IntN(10) {
		id := r.jobID(v)
		nodes := uint32(1)
		if len(pending) > 0 && r.IntN(10) > 0 {
			record := pick(r, pending)
			id, nodes = record.ID, record.Spec.Nodes
		}
		start := core.Start{Job: id}
		for range nodes {
			start.Nodes = append(start.Nodes, pick(r, nodeNames))
		}
		plan.Starts = append(plan.Starts, start)
	}
	for range r.IntN(4) {
		plan.Waits = append(plan.Waits, core.Wait{Job: r.jobID(v), Reason: pick(r, []core.Reason{core.ReasonPriority, core.ReasonResources})})
	}
	return plan
}

func (r *random) reportJobs(v *View) core.Command {
	var c core.ReportJobs
	allocated := slices.Collect(v.Allocated())
	for range r.IntN(5) {
		report := core.JobReport{Job: r.jobID(v), Attempt: uint32(r.IntN(3)), State: pick(r, endStates), ExitCode: int32(r.IntN(3))}
		if len(allocated) > 0 && r.IntN(10) > 0 {
			j := pick(r, allocated)
			report.Job, report.Attempt = j.ID, j.Attempt
		}
		c.Reports = append(c.Reports, report)
	}
	if r.IntN(20) == 0 {
		c.Reports = append(c.Reports, core.JobReport{Job: r.jobID(v), Attempt: 1, State: core.JobRunning})
	}
	return c
}

func (r *random) cancelJobs(v *View) core.Command {
	c := core.CancelJobs{By: pick(r, []string{"ann", "bob", "bob", ""})}
	for range r.IntN(4) {
		ref := whole(r.jobID(v))
		if r.IntN(2) == 0 {
			ref = element(ref.ID, uint32(r.IntN(7)))
		}
		c.Refs = append(c.Refs, ref)
	}
	return c
}

func (r *random) markNodes() core.Command {
	var c core.MarkNodes
	for range r.IntN(3) {
		c.Marks = append(c.Marks, core.NodeMark{Name: pick(r, nodeNames), Down: r.IntN(4) == 0, Reason: "silent"})
	}
	return c
}

// before returns a time at or shortly before the view's.
func (r *random) before(v *View) time.Time {
	if v.Time().IsZero() {
		return start
	}
	return v.Time().Add(-time.Duration(r.IntN(20)) * time.Second)
}

// jobID returns a recent ID, or one that is not given yet.
func (r *random) jobID(v *View) core.JobID {
	next := v.NextJob()
	return next + 1 - core.JobID(r.Uint64N(min(uint64(next)+1, 60)))
}
