package scheduler

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/sdk/abi"
)

// overdue is how far ahead the end of a job is put that has passed its time limit: its
// agent is ending it.
const overdue = time.Second

// picture is what a policy is shown of one view, and what the core keeps to itself to
// check the answer. Its buffers are reused by the next cycle.
type picture struct {
	abi.Picture

	nodes   []*core.Node     // by row
	free    []core.Resources // by row: what a start could take, 0 on nodes that take no jobs
	jobs    []candidate      // by row
	waits   []core.Wait      // of the jobs that are not shown: why not
	shapes  shapes
	reasons reasons

	rows  map[string]uint32 // node name -> row
	users map[string]uint32 // user -> string
}

// candidate is a pending record that could start now.
type candidate struct {
	job   *core.Job
	need  core.Resources // on each node
	set   uint32
	count uint32 // how many times it may start
}

// draw fills the picture from a view. The policy sees at most maxJobs records.
func (p *picture) draw(view *state.View, cycle uint64, now time.Time, maxJobs int) {
	p.Cycle, p.Now, p.Seed = cycle, now.UnixMilli(), seedOf(cycle)
	p.StringEnds, p.StringBytes = p.StringEnds[:0], p.StringBytes[:0]
	p.drawNodes(view.Nodes())
	p.shapes.reset(p.nodes)
	p.reasons.reset(p.nodes)
	p.gather(view.Pending(), maxJobs)
	p.drawJobs()
	p.Sets = p.shapes.sets
	p.drawRunning(view.Allocated())
}

func (p *picture) drawNodes(nodes iter.Seq[*core.Node]) {
	p.nodes, p.free = p.nodes[:0], p.free[:0]
	c := &p.Nodes
	c.CPUs, c.Memory, c.CPUsFree = c.CPUs[:0], c.Memory[:0], c.CPUsFree[:0]
	c.MemoryFree, c.Weight, c.Name = c.MemoryFree[:0], c.Weight[:0], c.Name[:0]
	if p.rows == nil {
		p.rows, p.users = map[string]uint32{}, map[string]uint32{}
	}
	clear(p.rows)
	clear(p.users)
	for node := range nodes {
		var free core.Resources
		if node.Schedulable() {
			free = node.Free()
		}
		p.rows[node.Name] = uint32(len(p.nodes))
		p.nodes = append(p.nodes, node)
		p.free = append(p.free, free)
		c.CPUs = append(c.CPUs, node.Capacity.CPUs)
		c.Memory = append(c.Memory, mebibytes(node.Capacity.MemoryMiB))
		c.CPUsFree = append(c.CPUsFree, free.CPUs)
		c.MemoryFree = append(c.MemoryFree, mebibytes(free.MemoryMiB))
		c.Weight = append(c.Weight, 1)
		c.Name = append(c.Name, p.intern(node.Name))
	}
}

// gather collects the pending records that a policy is to decide about, in the order of
// the queue, and why the others wait.
func (p *picture) gather(pending iter.Seq[*core.Job], maxJobs int) {
	p.jobs, p.waits = p.jobs[:0], p.waits[:0]
	for job := range pending {
		need := job.Spec.PerNode()
		set, size := p.shapes.setOf(need)
		count := job.Startable()
		switch {
		case size < job.Spec.Nodes:
			p.wait(job, p.reasons.unfit(need, job.Spec.Nodes))
		case count == 0:
			p.wait(job, arrayLimit(job))
		default:
			p.jobs = append(p.jobs, candidate{job: job, need: need, set: set, count: count})
		}
	}
	if !slices.IsSortedFunc(p.jobs, queueOrder) {
		slices.SortFunc(p.jobs, queueOrder)
	}
	if len(p.jobs) > maxJobs {
		for _, unseen := range p.jobs[maxJobs:] {
			if stale(unseen.job) {
				p.wait(unseen.job, verdict{reason: core.ReasonPriority})
			}
		}
		clear(p.jobs[maxJobs:])
		p.jobs = p.jobs[:maxJobs]
	}
}

func queueOrder(a, b candidate) int {
	if a.job.Priority != b.job.Priority {
		return cmp.Compare(b.job.Priority, a.job.Priority)
	}
	return cmp.Compare(a.job.ID, b.job.ID)
}

// wait notes why a job waits, unless its record says so already.
func (p *picture) wait(job *core.Job, v verdict) {
	if job.Reason != v.reason || job.Message != v.message {
		p.waits = append(p.waits, core.Wait{Job: job.ID, Reason: v.reason, Message: v.message})
	}
}

func (p *picture) drawJobs() {
	c := &p.Jobs
	c.ID, c.Priority, c.Submitted, c.Nodes = c.ID[:0], c.Priority[:0], c.Submitted[:0], c.Nodes[:0]
	c.CPUs, c.Memory, c.Limit = c.CPUs[:0], c.Memory[:0], c.Limit[:0]
	c.Set, c.Count, c.User = c.Set[:0], c.Count[:0], c.User[:0]
	lastUser, lastString := "", uint32(0)
	for i := range p.jobs {
		job, spec := p.jobs[i].job, p.jobs[i].job.Spec
		if i == 0 || spec.User != lastUser {
			lastUser, lastString = spec.User, p.userString(spec.User)
		}
		c.ID = append(c.ID, uint64(job.ID))
		c.Priority = append(c.Priority, job.Priority)
		c.Submitted = append(c.Submitted, job.SubmittedAt.UnixMilli())
		c.Nodes = append(c.Nodes, spec.Nodes)
		c.CPUs = append(c.CPUs, p.jobs[i].need.CPUs)
		c.Memory = append(c.Memory, mebibytes(p.jobs[i].need.MemoryMiB))
		c.Limit = append(c.Limit, limitSeconds(spec.TimeLimit))
		c.Set = append(c.Set, p.jobs[i].set)
		c.Count = append(c.Count, p.jobs[i].count)
		c.User = append(c.User, lastString)
	}
}

func (p *picture) drawRunning(allocated iter.Seq[*core.Job]) {
	c := &p.Running
	c.Job, c.Node, c.CPUs = c.Job[:0], c.Node[:0], c.CPUs[:0]
	c.Memory, c.End, c.Priority = c.Memory[:0], c.End[:0], c.Priority[:0]
	for job := range allocated {
		end := abi.Never
		if at, limited := job.ExpectedEnd(); limited {
			end = max(at.UnixMilli(), p.Now+overdue.Milliseconds())
		}
		for i := range job.Placements {
			placement := &job.Placements[i]
			row, known := p.rows[placement.Node]
			if !known {
				continue
			}
			c.Job = append(c.Job, uint64(job.ID))
			c.Node = append(c.Node, row)
			c.CPUs = append(c.CPUs, placement.CPUs)
			c.Memory = append(c.Memory, mebibytes(placement.MemoryMiB))
			c.End = append(c.End, end)
			c.Priority = append(c.Priority, job.Priority)
		}
	}
}

// intern adds a string to the dictionary.
func (p *picture) intern(s string) uint32 {
	p.StringBytes = append(p.StringBytes, s...)
	p.StringEnds = append(p.StringEnds, uint32(len(p.StringBytes)))
	return uint32(len(p.StringEnds) - 1)
}

func (p *picture) userString(user string) uint32 {
	at, known := p.users[user]
	if !known {
		at = p.intern(user)
		p.users[user] = at
	}
	return at
}

// mebibytes fits an amount into a column; 4 PiB is more than any node has.
func mebibytes(amount uint64) uint32 { return uint32(min(amount, math.MaxUint32)) }

func limitSeconds(limit time.Duration) uint32 {
	if limit == core.Unlimited {
		return abi.NoLimit
	}
	return uint32(min(limit/time.Second, math.MaxUint32-1))
}

// seedOf derives a policy's randomness from the cycle's number (splitmix64), so that a
// cycle can be replayed.
func seedOf(cycle uint64) uint64 {
	z := cycle + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
