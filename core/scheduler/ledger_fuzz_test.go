package scheduler_test

import (
	"testing"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/sdk/abi"
)

// FuzzAnyPlan hands the scheduler plans made of arbitrary bytes. Whatever is not refused
// whole must be what the state admits, to the last start.
func FuzzAnyPlan(f *testing.F) {
	f.Add([]byte{1, 0, 0, 1, 1, 1, 1, 1, 4, 2, 0, 0})
	f.Add([]byte{1, 2, 0, 2, 1, 2, 0, 2, 1, 3, 1, 1, 1, 3, 1, 1})
	f.Add([]byte{2, 0, 0, 0, 4, 1, 9, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newCluster(t, size(2, 100), size(4, 0), size(8, 50))
		c.drain("n3", "")
		c.submit(1)
		c.submit(3)
		c.submit(1, onNodes(2))
		c.submit(1, array("0-5%4"), memory(30))
		wild := newPolicy("wild@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
			plan := &abi.Plan{Cycle: p.Cycle, Nodes: []uint32{0, 1, 2, 3, 0}}
			for ; len(data) >= 4; data = data[4:] {
				plan.Proposals = append(plan.Proposals, abi.Proposal{
					Kind: abi.ProposalKind(data[0]), Reason: abi.SkipReason(data[2]), Job: uint32(data[1]),
					FirstNode: uint32(data[2]), NodeCount: uint32(data[3]),
				})
			}
			return plan, nil
		})
		out := c.cycleWith(wild, newPolicy("fallback@1.0.0", firstFit))
		if out.Refused != 0 {
			t.Fatalf("the state refused %d starts that the scheduler admitted", out.Refused)
		}
		for _, command := range c.commands {
			plan := command.(core.ApplyPlan).Plan
			if out.FellBack == (plan.Policy == "wild@1.0.0") {
				t.Fatalf("fell back: %v, placed by %q", out.FellBack, plan.Policy)
			}
		}
	})
}
