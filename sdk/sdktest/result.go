package sdktest

import (
	"slices"
	"testing"
	"time"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
)

// Result is what a policy proposed for a cluster. Its methods assert, and return it so
// that calls chain. Jobs are named by ID, nodes by row.
type Result struct {
	Picture *abi.Picture
	Plan    *abi.Plan

	t testing.TB
}

// Schedule runs the function once on the cluster. It fails the test at once if the plan
// breaks a rule of Check.
func Schedule(t testing.TB, c *Cluster, schedule sdk.Schedule) *Result {
	t.Helper()
	p := c.Picture()
	plan := sdk.Run(schedule, p)
	if err := Check(p, plan); err != nil {
		t.Fatalf("the core would refuse this plan: %v", err)
	}
	return &Result{Picture: p, Plan: plan, t: t}
}

// Started returns the IDs of the started jobs, in the plan's order; an array as often as
// it is started.
func (r *Result) Started() []uint64 {
	ids := []uint64{}
	for _, proposal := range r.proposals(abi.Start) {
		ids = append(ids, r.Picture.Jobs.ID[proposal.Job])
	}
	return ids
}

// Starts asserts that the job starts on these nodes, in any order; without nodes,
// anywhere.
func (r *Result) Starts(id uint64, nodes ...uint32) *Result {
	r.t.Helper()
	starts := r.of(abi.Start, id)
	if len(starts) == 0 {
		r.t.Errorf("job %d does not start", id)
		return r
	}
	if got := r.Plan.NodesOf(starts[0]); len(nodes) > 0 && !slices.Equal(sorted(got), sorted(nodes)) {
		r.t.Errorf("job %d starts on nodes %d, not on %d", id, got, nodes)
	}
	return r
}

// Waits asserts that the job, or the rest of an array, waits for this reason.
func (r *Result) Waits(id uint64, reason abi.SkipReason) *Result {
	r.t.Helper()
	reasons := append(r.of(abi.Skip, id), r.of(abi.Reserve, id)...)
	if len(reasons) != 1 || reasons[0].Reason != reason {
		r.t.Errorf("job %d should wait with reason %d once, its records are %+v", id, reason, reasons)
	}
	return r
}

// Reserves asserts that the job is expected to start so much later on these nodes.
func (r *Result) Reserves(id uint64, after time.Duration, nodes ...uint32) *Result {
	r.t.Helper()
	found := r.of(abi.Reserve, id)
	if len(found) != 1 {
		r.t.Errorf("job %d has %d reservations, not one", id, len(found))
		return r
	}
	at, on := found[0].At, r.Plan.NodesOf(found[0])
	if at != r.Picture.Now+after.Milliseconds() || !slices.Equal(sorted(on), sorted(nodes)) {
		r.t.Errorf("job %d is reserved nodes %d after %v, not %d after %v",
			id, on, time.Duration(at-r.Picture.Now)*time.Millisecond, nodes, after)
	}
	return r
}

func (r *Result) of(kind abi.ProposalKind, id uint64) []abi.Proposal {
	return slices.DeleteFunc(r.proposals(kind), func(p abi.Proposal) bool { return r.Picture.Jobs.ID[p.Job] != id })
}

func (r *Result) proposals(kind abi.ProposalKind) []abi.Proposal {
	return slices.DeleteFunc(slices.Clone(r.Plan.Proposals), func(p abi.Proposal) bool { return p.Kind != kind })
}

func sorted(nodes []uint32) []uint32 { return slices.Sorted(slices.Values(nodes)) }
