package state

import (
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestApplyPlanStartsJob(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 1000)
	spec := job(func(s *core.JobSpec) { s.CPUsPerTask, s.MemoryMiB = 2, 300 })
	id := r.submit(spec)[0]
	submitted := r.now
	need := core.Resources{CPUs: 2, MemoryMiB: 300}

	want(t, "started", r.plan(core.Start{Job: id, Nodes: []string{"n1"}}), core.Planned{Started: []core.JobID{id}})
	want(t, "job", r.View().Job(id), &core.Job{
		ID: id, Spec: &spec, State: core.JobRunning, Priority: core.BasePriority, Attempt: 1,
		Placements: []core.Placement{{Node: "n1", Resources: need}}, Policy: "test@1", Cycle: 7,
		SubmittedAt: submitted, StartedAt: r.now, ModifyIndex: r.index,
	})
	want(t, "allocated", r.View().Node("n1").Allocated, need)
	want(t, "jobs", r.View().Node("n1").Jobs, 1)
}

func TestApplyPlanChargesEveryNode(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	r.addNode("n2", 1, 0)
	id := r.submit(job(on(2)))[0]
	r.mustStart(id, "n2", "n1")
	for _, name := range []string{"n1", "n2"} {
		want(t, name, r.View().Node(name).Free(), core.Resources{})
		for on := range r.View().JobsOn(name) {
			want(t, "job on "+name, on.ID, id)
		}
	}
	want(t, "rank order", r.View().Job(id).Placements[0].Node, "n2")
}

func TestApplyPlanRefusesAndChangesNothing(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 2, 100)
	r.addNode("down", 2, 100)
	r.addNode("drained", 2, 100)
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "down", Down: true}}})
	r.accepted(core.DrainNode{Name: "drained", Drain: true})
	running := r.run("n1")
	small := r.submit(job())[0]
	wide := r.submit(job(on(2)))[0]
	fat := r.submit(job(func(s *core.JobSpec) { s.CPUsPerTask = 2 }))[0]
	greedy := r.submit(job(func(s *core.JobSpec) { s.MemoryMiB = 101 }))[0]

	cases := []struct {
		name, says string
		start      core.Start
	}{
		{"UnknownJob", "job 99 does not exist", core.Start{Job: 99, Nodes: []string{"n1"}}},
		{"RunningJob", "is RUNNING, not pending", core.Start{Job: running, Nodes: []string{"n1"}}},
		{"TooFewNodes", "needs 2 nodes, the plan gives it 1", core.Start{Job: wide, Nodes: []string{"n1"}}},
		{"TooManyNodes", "needs 1 nodes, the plan gives it 2", core.Start{Job: small, Nodes: []string{"n1", "down"}}},
		{"NodeTwice", `is given node "n1" twice`, core.Start{Job: wide, Nodes: []string{"n1", "n1"}}},
		{"UnknownNode", `node "nx" does not exist`, core.Start{Job: small, Nodes: []string{"nx"}}},
		{"DownNode", "node down is DOWN", core.Start{Job: small, Nodes: []string{"down"}}},
		{"DrainedNode", "node drained is DRAINED", core.Start{Job: small, Nodes: []string{"drained"}}},
		{"FullNode", "has 1 CPU, 100 MiB free", core.Start{Job: fat, Nodes: []string{"n1"}}},
		{"FullMemory", "the job needs 1 CPU, 101 MiB", core.Start{Job: greedy, Nodes: []string{"n1"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := snapshotRecords(t, r.Store)
			planned := r.plan(c.start)
			if len(planned.Refused) != 1 || !strings.Contains(planned.Refused[0], c.says) || planned.Started != nil {
				t.Errorf("got %+v, want a refusal that says %q", planned, c.says)
			}
			want(t, "state", snapshotRecords(t, r.Store), before)
		})
	}
}

func TestApplyPlanSeesItsOwnStarts(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	jobs := r.submit(job(), job())
	planned := r.plan(core.Start{Job: jobs[0], Nodes: []string{"n1"}}, core.Start{Job: jobs[1], Nodes: []string{"n1"}})
	want(t, "started", planned.Started, jobs[:1])
	want(t, "refused", planned.Refused, []string{"job 2: node n1 has 0 CPUs, 0 MiB free, the job needs 1 CPU, 0 MiB"})
}

func TestApplyPlanSeesEarlierCommandsOfItsEntry(t *testing.T) {
	r := newReplica(t)
	results := r.apply(
		core.RegisterNode{Name: "n1", Capacity: core.Resources{CPUs: 1}},
		submission("k", job()),
		core.ApplyPlan{Plan: core.Plan{Starts: []core.Start{{Job: 1, Nodes: []string{"n1"}}}}})
	want(t, "planned", results[2].(core.Planned).Started, []core.JobID{1})
}

func TestApplyPlanStartsLowestIndexOfArray(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "3-5")))[0]
	start := core.Start{Job: id, Nodes: []string{"n1"}}
	want(t, "new records", r.plan(start, start).Started, []core.JobID{2, 3})
	want(t, "array", arrayOf(r, id), []string{"1_[5] PENDING", "1_3 RUNNING", "1_4 RUNNING"})
	want(t, "running", r.View().Job(id).ArrayRunning, 2)
	if r.View().Job(2).Spec != r.View().Job(id).Spec {
		t.Error("an element has a spec of its own")
	}
}

func TestApplyPlanTurnsArrayRecordIntoLastElement(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "3-4")))[0]
	start := core.Start{Job: id, Nodes: []string{"n1"}}
	want(t, "records", r.plan(start, start).Started, []core.JobID{2, id})
	want(t, "array", arrayOf(r, id), []string{"1_3 RUNNING", "1_4 RUNNING"})
	want(t, "running", r.View().Job(id).ArrayRunning, 0)
	r.report(2, core.JobCompleted)
	r.report(id, core.JobCompleted)
	want(t, "array", arrayOf(r, id), []string{"1_3 COMPLETED", "1_4 COMPLETED"})
}

func TestApplyPlanKeepsArrayLimit(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 8, 0)
	id := r.submit(job(array(t, "0-9%2")))[0]
	start := core.Start{Job: id, Nodes: []string{"n1"}}
	planned := r.plan(start, start, start)
	want(t, "started", len(planned.Started), 2)
	want(t, "refused", planned.Refused, []string{"job 1_[2-9%2] has 2 elements running, its limit"})
	r.report(planned.Started[0], core.JobFailed)
	want(t, "after one ended", len(r.plan(start, start).Started), 1)
}

func TestApplyPlanNotesWhyJobsWait(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job())[0]
	wait := core.ApplyPlan{Plan: core.Plan{Waits: []core.Wait{{Job: id, Reason: core.ReasonResources, Message: "no room"}}}}
	r.apply(wait)
	want(t, "reason", r.View().Job(id).Reason, core.ReasonResources)
	want(t, "message", r.View().Job(id).Message, "no room")
	noted := r.View().Job(id).ModifyIndex
	r.apply(wait)
	want(t, "index after the same again", r.View().Job(id).ModifyIndex, noted)
}

func TestApplyPlanClearsReasonOfStarted(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.submit(job())[0]
	r.apply(core.ApplyPlan{Plan: core.Plan{
		Starts: []core.Start{{Job: id, Nodes: []string{"n1"}}},
		Waits:  []core.Wait{{Job: id, Reason: core.ReasonPriority}, {Job: 99, Reason: core.ReasonPriority}},
	}})
	want(t, "reason", r.View().Job(id).Reason, core.ReasonNone)
}

func TestApplyPlanShortensLongMessage(t *testing.T) {
	r := newReplica(t)
	id := r.submit(job())[0]
	r.apply(core.ApplyPlan{Plan: core.Plan{Waits: []core.Wait{{Job: id, Message: strings.Repeat("é", 1000) + "x"}}}})
	want(t, "message", r.View().Job(id).Message, strings.Repeat("é", 512))
}
