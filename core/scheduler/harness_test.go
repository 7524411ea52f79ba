package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/scheduler"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
	"github.com/rowelhq/rowel/sdk/abi"
)

// start is the time at which every test begins; synctest bubbles begin there too.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// cluster is a real store with a proposer that stands in for consensus.
type cluster struct {
	t     testing.TB
	store *state.Store

	log sync.Mutex // one entry at a time

	mu       sync.Mutex
	now      time.Time
	commands []core.Command           // proposed by the scheduler
	refuse   func(core.Command) error // what Propose returns instead, if not nil
}

func newCluster(t testing.TB, nodes ...core.Resources) *cluster {
	c := &cluster{t: t, store: state.New(), now: start}
	for i, capacity := range nodes {
		c.register(fmt.Sprintf("n%d", i+1), capacity)
	}
	return c
}

func (c *cluster) clock() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Propose implements scheduler.Proposer.
func (c *cluster) Propose(_ context.Context, command core.Command) (core.Result, error) {
	c.mu.Lock()
	c.commands = append(c.commands, command)
	refuse := c.refuse
	c.mu.Unlock()
	if refuse != nil {
		if err := refuse(command); err != nil {
			return nil, err
		}
	}
	return c.apply(command)
}

func (c *cluster) apply(command core.Command) (core.Result, error) {
	data, err := wire.EncodeCommand(command)
	if err != nil {
		return nil, err
	}
	c.log.Lock()
	defer c.log.Unlock()
	results, err := c.store.Apply(c.store.View().Index()+1, c.clock(), [][]byte{data})
	if err != nil {
		return nil, err
	}
	if refused, ok := results[0].(error); ok {
		return nil, refused
	}
	return results[0], nil
}

func (c *cluster) must(command core.Command) core.Result {
	c.t.Helper()
	result, err := c.apply(command)
	if err != nil {
		c.t.Fatalf("%T: %v", command, err)
	}
	return result
}

func (c *cluster) register(name string, capacity core.Resources) {
	c.must(core.RegisterNode{Name: name, Capacity: capacity, Agent: "agent-" + name})
}

func (c *cluster) drain(name, reason string) {
	c.must(core.DrainNode{Name: name, Drain: true, Reason: reason, By: "root"})
}

// submit queues one job on one node, changed by edits.
func (c *cluster) submit(cpus uint32, edits ...func(*core.JobSpec)) core.JobID {
	c.t.Helper()
	spec := core.JobSpec{
		Name: "job", User: "ada", Partition: core.DefaultPartition,
		Nodes: 1, Tasks: 1, CPUsPerTask: cpus, TimeLimit: time.Hour,
	}
	for _, edit := range edits {
		edit(&spec)
	}
	result := c.must(core.SubmitJobs{
		RequestKey: fmt.Sprintf("key-%d", c.store.View().NextJob()),
		Jobs:       []core.Submission{{Spec: spec, Payload: core.Payload{Argv: []string{"true"}}}},
	})
	return result.(core.Submitted).Jobs[0]
}

func (c *cluster) end(id core.JobID) {
	c.must(core.ReportJobs{Reports: []core.JobReport{
		{Job: id, Attempt: c.job(id).Attempt, State: core.JobCompleted},
	}})
}

func (c *cluster) job(id core.JobID) *core.Job {
	c.t.Helper()
	job := c.store.View().Job(id)
	if job == nil {
		c.t.Fatalf("job %d does not exist", id)
	}
	return job
}

// nodesOf returns where a job runs, in rank order.
func (c *cluster) nodesOf(id core.JobID) []string {
	var names []string
	for _, p := range c.job(id).Placements {
		names = append(names, p.Node)
	}
	return names
}

func (c *cluster) scheduler(config scheduler.Config, policy, fallback scheduler.Policy) *scheduler.Scheduler {
	return scheduler.New(config, c.store.View, c, policy, fallback, c.clock, hclog.NewNullLogger())
}

// cycle runs one cycle with an honest policy.
func (c *cluster) cycle() scheduler.Outcome {
	c.t.Helper()
	return c.cycleWith(newPolicy("honest@1.0.0", firstFit), newPolicy("fallback@1.0.0", firstFit))
}

func (c *cluster) cycleWith(policy, fallback *policy) scheduler.Outcome {
	c.t.Helper()
	out, err := c.scheduler(scheduler.Config{}, policy, fallback).Cycle(c.t.Context())
	if err != nil {
		c.t.Fatalf("cycle: %v", err)
	}
	return out
}

// policy is a policy in Go that counts what happens to it.
type policy struct {
	name   string
	answer func(*abi.Picture) (*abi.Plan, error)

	mu      sync.Mutex
	calls   int
	strikes []string
	open    bool
	picture *abi.Picture // the last one; its columns are the scheduler's
}

func newPolicy(name string, answer func(*abi.Picture) (*abi.Plan, error)) *policy {
	return &policy{name: name, answer: answer}
}

func (p *policy) Name() string { return p.name }

func (p *policy) Open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *policy) Strike(kind string, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strikes = append(p.strikes, kind)
}

func (p *policy) Cycle(_ context.Context, picture *abi.Picture) (*abi.Plan, error) {
	p.mu.Lock()
	p.calls++
	p.picture = picture
	p.mu.Unlock()
	return p.answer(picture) // unlocked: an answer may take its time
}

func (p *policy) called() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// firstFit starts what fits in the order of the queue, never past a job that does not.
func firstFit(p *abi.Picture) (*abi.Plan, error) {
	plan := &abi.Plan{Cycle: p.Cycle}
	cpus := append([]uint32(nil), p.Nodes.CPUsFree...)
	memory := append([]uint32(nil), p.Nodes.MemoryFree...)
	blocked := false
	for job := range p.Jobs.ID {
		started := uint32(0)
		for !blocked && started < p.Jobs.Count[job] {
			var rows []uint32
			for row := range cpus {
				if uint32(len(rows)) < p.Jobs.Nodes[job] && p.Set(p.Jobs.Set[job])[row/64]>>(row%64)&1 == 1 &&
					p.Jobs.CPUs[job] <= cpus[row] && p.Jobs.Memory[job] <= memory[row] {
					rows = append(rows, uint32(row))
				}
			}
			if uint32(len(rows)) < p.Jobs.Nodes[job] {
				break
			}
			for _, row := range rows {
				cpus[row] -= p.Jobs.CPUs[job]
				memory[row] -= p.Jobs.Memory[job]
			}
			plan.Add(abi.Proposal{Kind: abi.Start, Job: uint32(job)}, rows...)
			started++
		}
		reason := abi.BecausePriority
		if !blocked && started < p.Jobs.Count[job] {
			blocked, reason = true, abi.BecauseResources
		}
		if started < p.Jobs.Count[job] {
			plan.Add(abi.Proposal{Kind: abi.Skip, Reason: reason, Job: uint32(job)})
		}
	}
	return plan, nil
}

// silent says nothing about any job.
func silent(p *abi.Picture) (*abi.Plan, error) { return &abi.Plan{Cycle: p.Cycle}, nil }

func array(indices string) func(*core.JobSpec) {
	return func(s *core.JobSpec) {
		spec, err := core.ParseArray(indices)
		if err != nil {
			panic(err)
		}
		s.Array = spec
	}
}

func onNodes(n uint32) func(*core.JobSpec) {
	return func(s *core.JobSpec) { s.Nodes, s.Tasks = n, n }
}

func nice(n uint32) func(*core.JobSpec) { return func(s *core.JobSpec) { s.Nice = n } }

func memory(mib uint64) func(*core.JobSpec) {
	return func(s *core.JobSpec) { s.MemoryMiB = mib }
}

func size(cpus uint32, mib uint64) core.Resources {
	return core.Resources{CPUs: cpus, MemoryMiB: mib}
}
