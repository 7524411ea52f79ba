package sdk

import (
	"slices"

	"github.com/rowelhq/rowel/sdk/abi"
)

// Cycle is one scheduling cycle: the picture to read, what is still free, and the
// methods that propose. Rows number nodes and jobs as the picture's columns do.
//
// A loop over nodes should take the columns that it reads into local variables first: a
// method call for each pair of job and node doubles the cost of a cycle.
type Cycle struct {
	*abi.Picture

	// Free is what each node has left. It shrinks as Start takes from it; the picture's
	// own columns keep what was free when the cycle began. Read only.
	Free Free

	left   []uint32 // starts that each job may still make
	stamps []uint32 // by node: the last call of Start that named it
	calls  uint32
	plan   abi.Plan
}

// Free is what is free on each node, by row.
type Free struct {
	CPUs   []uint32
	Memory []uint32 // MiB
}

func newCycle(p *abi.Picture) *Cycle {
	return &Cycle{
		Picture: p,
		Free:    Free{CPUs: slices.Clone(p.Nodes.CPUsFree), Memory: slices.Clone(p.Nodes.MemoryFree)},
		left:    slices.Clone(p.Jobs.Count),
		stamps:  make([]uint32, p.Nodes.Len()),
		plan: abi.Plan{
			Cycle:     p.Cycle,
			Proposals: make([]abi.Proposal, 0, p.Jobs.Len()+p.Jobs.Len()/8),
		},
	}
}

// Left returns how many more times the job may be started in this cycle: 1 or 0, or
// more for an array.
func (c *Cycle) Left(job uint32) uint32 { return c.left[job] }

// Start proposes to run the job on the nodes now and takes what it needs from Free. It
// reports false, and proposes nothing, when the core would refuse it: nothing of the job is left to
// start, the nodes are not as many as it asks for or one is named twice, lies outside
// the job's set or has too little free.
func (c *Cycle) Start(job uint32, nodes ...uint32) bool {
	if int(job) >= len(c.left) || c.left[job] == 0 || uint64(len(nodes)) != uint64(c.Jobs.Nodes[job]) || len(nodes) == 0 {
		return false
	}
	cpus, memory, set := c.Jobs.CPUs[job], c.Jobs.Memory[job], c.Set(c.Jobs.Set[job])
	c.calls++
	for _, n := range nodes {
		if int(n) >= len(c.stamps) || c.stamps[n] == c.calls || set[n/64]>>(n%64)&1 == 0 ||
			c.Free.CPUs[n] < cpus || c.Free.Memory[n] < memory {
			return false
		}
		c.stamps[n] = c.calls
	}
	for _, n := range nodes {
		c.Free.CPUs[n] -= cpus
		c.Free.Memory[n] -= memory
	}
	c.left[job]--
	c.plan.Add(abi.Proposal{Kind: abi.Start, Job: job}, nodes...)
	return true
}

// Reserve says that the job waits for resources and is expected to start on the nodes at
// that time, in Unix milliseconds. It informs; it holds nothing.
func (c *Cycle) Reserve(job uint32, at int64, nodes ...uint32) {
	c.plan.Add(abi.Proposal{Kind: abi.Reserve, Reason: abi.BecauseResources, Job: job, At: at}, nodes...)
}

// Skip says why the job, or what is left of an array, does not start now.
func (c *Cycle) Skip(job uint32, reason abi.SkipReason) {
	c.plan.Proposals = append(c.plan.Proposals, abi.Proposal{Kind: abi.Skip, Reason: reason, Job: job})
}

// Log writes one line to the controller's log, at one of the levels of package abi. The
// controller keeps a bounded number of lines a cycle and drops the rest.
func (c *Cycle) Log(level int32, line string) { log(level, line) }
