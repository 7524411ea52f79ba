package scheduler_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/sdk/abi"
)

func TestIllegalPlanFallsBackInTheSameCycle(t *testing.T) {
	start := func(job uint32, rows ...uint32) func(*abi.Plan) {
		return func(p *abi.Plan) { p.Add(abi.Proposal{Kind: abi.Start, Job: job}, rows...) }
	}
	// Rows: n1 has 2 CPUs, n2 has 4, n3 is drained. Jobs: 0 takes one CPU, 1 takes
	// three, 2 takes two nodes.
	for name, lie := range map[string]struct {
		strike string
		edits  []func(*abi.Plan)
	}{
		"the same job twice":         {"duplicate-start", []func(*abi.Plan){start(0, 0), start(0, 1)}},
		"more than a node has left":  {"oversubscription", []func(*abi.Plan){start(1, 1), start(2, 0, 1), start(0, 1)}},
		"a node too small":           {"wrong-nodes", []func(*abi.Plan){start(1, 0)}},
		"a drained node":             {"wrong-nodes", []func(*abi.Plan){start(0, 2)}},
		"a node that does not exist": {"wrong-nodes", []func(*abi.Plan){start(0, 7)}},
		"one node twice":             {"wrong-nodes", []func(*abi.Plan){start(2, 1, 1)}},
		"too few nodes":              {"wrong-nodes", []func(*abi.Plan){start(2, 1)}},
		"too many nodes":             {"wrong-nodes", []func(*abi.Plan){start(0, 0, 1)}},
		"no nodes":                   {"wrong-nodes", []func(*abi.Plan){start(0)}},
		"a job that does not exist":  {"unknown-job", []func(*abi.Plan){start(3, 0)}},
		"an unknown kind": {"unknown-kind", []func(*abi.Plan){
			func(p *abi.Plan) { p.Add(abi.Proposal{Kind: 77}) },
		}},
		"an unknown reason": {"unknown-reason", []func(*abi.Plan){
			func(p *abi.Plan) { p.Add(abi.Proposal{Kind: abi.Skip, Reason: 77}) },
		}},
		"nodes outside the plan": {"malformed-plan", []func(*abi.Plan){
			func(p *abi.Plan) { p.Proposals = append(p.Proposals, abi.Proposal{Kind: abi.Start, NodeCount: 1}) },
		}},
		"another cycle": {"malformed-plan", []func(*abi.Plan){func(p *abi.Plan) { p.Cycle++ }}},
		"a lie after a truth": {"duplicate-start", []func(*abi.Plan){
			start(1, 1), start(1, 1),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, size(2, 0), size(4, 0), size(8, 0))
			c.drain("n3", "")
			small, large, wide := c.submit(1), c.submit(3), c.submit(1, onNodes(2))
			liar := newPolicy("liar@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
				plan := &abi.Plan{Cycle: p.Cycle}
				for _, edit := range lie.edits {
					edit(plan)
				}
				return plan, nil
			})
			fallback := newPolicy("fallback@1.0.0", firstFit)
			out := c.cycleWith(liar, fallback)
			if diff := cmp.Diff([]string{lie.strike}, liar.strikes); diff != "" {
				t.Fatal(diff)
			}
			if !out.FellBack || out.Fault == nil || out.Fault.Kind != lie.strike || out.Fault.Policy != "liar@1.0.0" {
				t.Fatalf("outcome %+v", out)
			}
			for _, id := range []core.JobID{small, large, wide} {
				if job := c.job(id); job.State != core.JobRunning || job.Policy != "fallback@1.0.0" {
					t.Errorf("job %d is %v by %q, want RUNNING by the fallback", id, job.State, job.Policy)
				}
			}
		})
	}
}

func TestFailingPolicyFallsBackWithoutAStrikeOfOurs(t *testing.T) {
	c := newCluster(t, size(1, 0))
	id := c.submit(1)
	traps := newPolicy("traps@1.0.0", func(*abi.Picture) (*abi.Plan, error) { return nil, errors.New("trap") })
	out := c.cycleWith(traps, newPolicy("fallback@1.0.0", firstFit))
	if out.Fault == nil || out.Fault.Text != "trap" || len(traps.strikes) != 0 {
		t.Fatalf("outcome %+v, strikes %v: a policy counts the errors of its calls itself", out, traps.strikes)
	}
	if job := c.job(id); job.Policy != "fallback@1.0.0" {
		t.Fatalf("placed by %q", job.Policy)
	}
}

func TestOpenCircuitIsNotCalled(t *testing.T) {
	c := newCluster(t, size(1, 0))
	id := c.submit(1)
	tripped := newPolicy("tripped@1.0.0", firstFit)
	tripped.open = true
	out := c.cycleWith(tripped, newPolicy("fallback@1.0.0", firstFit))
	if tripped.called() != 0 || !out.FellBack || out.Fault != nil {
		t.Fatalf("called %d times, outcome %+v", tripped.called(), out)
	}
	if job := c.job(id); job.Policy != "fallback@1.0.0" {
		t.Fatalf("placed by %q", job.Policy)
	}
}
