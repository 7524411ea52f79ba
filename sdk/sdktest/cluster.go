package sdktest

import (
	"fmt"
	"math"
	"time"

	"github.com/rowelhq/rowel/sdk/abi"
)

// Now is the time of every picture that this package builds, in Unix milliseconds.
const Now = int64(1_700_000_000_000)

// Cluster builds a picture. Its methods return it, so that calls chain; a call that makes no
// sense, such as a job on a node that does not exist, panics.
type Cluster struct {
	picture abi.Picture
	sets    [][]int // nil: every node
	strings map[string]uint32
}

// Job is a job, pending or running. What is zero has a default.
type Job struct {
	ID       uint64
	Priority uint32
	Nodes    uint32        // default 1
	CPUs     uint32        // on each node, default 1
	Memory   uint32        // MiB on each node
	Limit    time.Duration // default: none; of a running job, what is left of it
	On       []int         // the nodes that it may use, default all
	Count    uint32        // default 1; more for an array
	User     string
}

// New returns a cluster without nodes.
func New() *Cluster {
	return &Cluster{picture: abi.Picture{Cycle: 1, Now: Now, Seed: 1}, sets: [][]int{nil}, strings: map[string]uint32{}}
}

// Nodes adds so many equal nodes, numbered on from the last.
func (c *Cluster) Nodes(count int, cpus, memory uint32) *Cluster {
	nodes := &c.picture.Nodes
	for range count {
		nodes.Name = append(nodes.Name, c.intern(fmt.Sprintf("n%d", nodes.Len())))
		nodes.CPUs, nodes.Memory = append(nodes.CPUs, cpus), append(nodes.Memory, memory)
		nodes.CPUsFree, nodes.MemoryFree = append(nodes.CPUsFree, cpus), append(nodes.MemoryFree, memory)
		nodes.Weight = append(nodes.Weight, 1)
	}
	return c
}

// Weigh sets the weight of a node; 1 is the default.
func (c *Cluster) Weigh(node int, weight uint32) *Cluster {
	c.picture.Nodes.Weight[node] = weight
	return c
}

// Run adds a running job on the nodes, which lose what it holds.
func (c *Cluster) Run(j Job, on ...int) *Cluster {
	j = j.withDefaults()
	for _, n := range on {
		c.hold(j, n)
	}
	return c
}

func (c *Cluster) hold(j Job, n int) {
	nodes, running := &c.picture.Nodes, &c.picture.Running
	if nodes.CPUsFree[n] < j.CPUs || nodes.MemoryFree[n] < j.Memory {
		panic(fmt.Sprintf("job %d does not fit on node %d beside what runs there", j.ID, n))
	}
	nodes.CPUsFree[n] -= j.CPUs
	nodes.MemoryFree[n] -= j.Memory
	end := abi.Never
	if j.Limit != 0 {
		end = Now + j.Limit.Milliseconds()
	}
	running.Job, running.Node = append(running.Job, j.ID), append(running.Node, uint32(n))
	running.CPUs, running.Memory = append(running.CPUs, j.CPUs), append(running.Memory, j.Memory)
	running.End, running.Priority = append(running.End, end), append(running.Priority, j.Priority)
}

// Queue adds pending jobs, in rows on from the last.
func (c *Cluster) Queue(pending ...Job) *Cluster {
	jobs := &c.picture.Jobs
	for _, j := range pending {
		j = j.withDefaults()
		limit := abi.NoLimit
		if j.Limit != 0 {
			limit = uint32(math.Ceil(j.Limit.Seconds()))
		}
		jobs.ID, jobs.Priority = append(jobs.ID, j.ID), append(jobs.Priority, j.Priority)
		jobs.Submitted = append(jobs.Submitted, Now)
		jobs.Nodes, jobs.CPUs = append(jobs.Nodes, j.Nodes), append(jobs.CPUs, j.CPUs)
		jobs.Memory, jobs.Limit = append(jobs.Memory, j.Memory), append(jobs.Limit, limit)
		jobs.Set, jobs.Count = append(jobs.Set, c.set(j.On)), append(jobs.Count, j.Count)
		jobs.User = append(jobs.User, c.intern(j.User))
	}
	return c
}

// Picture returns the picture of the cluster as it is now.
func (c *Cluster) Picture() *abi.Picture {
	p := c.picture
	words := p.SetWords()
	p.Sets = make([]uint64, len(c.sets)*words)
	for i, set := range c.sets {
		bits := p.Sets[i*words : (i+1)*words]
		if set == nil {
			for n := range p.Nodes.Len() {
				bits[n/64] |= 1 << (n % 64)
			}
		}
		for _, n := range set {
			bits[n/64] |= 1 << (n % 64)
		}
	}
	return &p
}

func (j Job) withDefaults() Job {
	j.Nodes, j.CPUs, j.Count = max(j.Nodes, 1), max(j.CPUs, 1), max(j.Count, 1)
	return j
}

// set returns the number of the set of these nodes.
func (c *Cluster) set(on []int) uint32 {
	if on == nil {
		return 0
	}
	for i, known := range c.sets {
		if known != nil && fmt.Sprint(known) == fmt.Sprint(on) {
			return uint32(i)
		}
	}
	c.sets = append(c.sets, on)
	return uint32(len(c.sets) - 1)
}

func (c *Cluster) intern(s string) uint32 {
	i, known := c.strings[s]
	if !known {
		i = uint32(len(c.picture.StringEnds))
		c.strings[s] = i
		c.picture.StringBytes = append(c.picture.StringBytes, s...)
		c.picture.StringEnds = append(c.picture.StringEnds, uint32(len(c.picture.StringBytes)))
	}
	return i
}
