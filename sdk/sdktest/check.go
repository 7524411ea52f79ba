package sdktest

import (
	"fmt"

	"github.com/rowelhq/rowel/sdk/abi"
)

// Check returns an error if the core would refuse a start of the plan: it names a job too
// often, the wrong number of nodes, a node twice, outside the job's set or without room.
func Check(p *abi.Picture, plan *abi.Plan) error {
	encoded := make([]byte, plan.Size())
	plan.Encode(encoded)
	if _, err := abi.DecodePlan(encoded, p.Cycle, p.Nodes.Len(), p.Jobs.Len()); err != nil {
		return err
	}
	cpus := append([]uint32(nil), p.Nodes.CPUsFree...)
	memory := append([]uint32(nil), p.Nodes.MemoryFree...)
	left := append([]uint32(nil), p.Jobs.Count...)
	for _, proposal := range plan.Proposals {
		if proposal.Kind != abi.Start {
			continue
		}
		j, on := proposal.Job, plan.NodesOf(proposal)
		id := p.Jobs.ID[j]
		switch {
		case left[j] == 0:
			return fmt.Errorf("job %d is started more than %d times", id, p.Jobs.Count[j])
		case len(on) != int(p.Jobs.Nodes[j]):
			return fmt.Errorf("job %d is started on %d nodes, it asks for %d", id, len(on), p.Jobs.Nodes[j])
		}
		left[j]--
		named := map[uint32]bool{}
		for _, n := range on {
			switch {
			case named[n]:
				return fmt.Errorf("job %d is started twice on node %d", id, n)
			case p.Set(p.Jobs.Set[j])[n/64]>>(n%64)&1 == 0:
				return fmt.Errorf("job %d is started on node %d, where it may not run", id, n)
			case cpus[n] < p.Jobs.CPUs[j] || memory[n] < p.Jobs.Memory[j]:
				return fmt.Errorf("job %d is started on node %d, which has %d CPUs and %d MiB left", id, n, cpus[n], memory[n])
			}
			named[n] = true
			cpus[n] -= p.Jobs.CPUs[j]
			memory[n] -= p.Jobs.Memory[j]
		}
	}
	return nil
}
