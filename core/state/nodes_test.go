package state

import (
	"maps"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestRegisterNodeMakesItKnown(t *testing.T) {
	r := newReplica(t)
	c := core.RegisterNode{
		Name: "n1", Address: "10.0.0.1:9", Labels: map[string]string{"rack": "r1"}, Agent: "a1", Version: "1.0", OS: "linux",
		Capacity: core.Resources{CPUs: 4, MemoryMiB: 100},
	}
	r.accepted(c)
	want(t, "node", r.View().Node("n1"), &core.Node{
		Name: "n1", Address: c.Address, Labels: maps.Clone(c.Labels), Agent: "a1", Version: "1.0", OS: "linux",
		Capacity: c.Capacity, RegisteredAt: r.now, ModifyIndex: r.index,
	})
}

func TestRegisterNodeAgainKeepsJobsAndDrain(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.run("n1")
	r.accepted(core.DrainNode{Name: "n1", Drain: true, Reason: "fan", By: "ann"})
	r.accepted(core.RegisterNode{Name: "n1", Agent: "second", Capacity: core.Resources{CPUs: 8}})
	node := r.View().Node("n1")
	want(t, "agent", node.Agent, "second")
	want(t, "free", node.Free().CPUs, 7)
	want(t, "state", node.State(), core.NodeDraining)
	want(t, "reason", node.DrainReason, "fan")
}

// A machine that was started anew has none of its old processes, whatever the agent's
// files say: nothing may be launched there as if it had never run.
func TestRegisterNodeAfterABootFailsTheJobsOfBefore(t *testing.T) {
	r := newReplica(t)
	boot := func(id string) {
		r.accepted(core.RegisterNode{Name: "n1", BootID: id, Capacity: core.Resources{CPUs: 4}})
	}
	boot("monday")
	id := r.run("n1")
	boot("monday")
	want(t, "state after the agent alone restarted", r.View().Job(id).State, core.JobRunning)
	boot("tuesday")
	want(t, "state", r.View().Job(id).State, core.JobNodeFail)
	want(t, "message", r.View().Job(id).Message, "node n1 was started anew while the job ran")
	want(t, "free", r.View().Node("n1").Free().CPUs, 4)
}

func TestRegisterNodeClearsDown(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "silent"}}})
	r.addNode("n1", 4, 0)
	want(t, "state", r.View().Node("n1").State(), core.NodeIdle)
	want(t, "reason", r.View().Node("n1").DownReason, "")
	want(t, "changed", r.View().Node("n1").ChangedAt, r.now)
}

func TestRegisterNodeThatShrankTakesNothingNew(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 2, 0)
	first := r.run("n1")
	r.run("n1")
	r.addNode("n1", 1, 0)
	waiting := r.submit(job())[0]
	r.report(first, core.JobCompleted)
	want(t, "refused", len(r.plan(core.Start{Job: waiting, Nodes: []string{"n1"}}).Refused), 1)
}

func TestRegisterNodeRefusesWhatCannotBe(t *testing.T) {
	labels := map[string]string{}
	for i := range maxLabels + 1 {
		labels[strings.Repeat("l", i+1)] = ""
	}
	capacity := core.Resources{CPUs: 1}
	cases := map[string]core.RegisterNode{
		"name":     {Name: "a b", Capacity: capacity},
		"no CPU":   {Name: "n1"},
		"CPUs":     {Name: "n1", Capacity: core.Resources{CPUs: maxNodeCPUs + 1}},
		"labels":   {Name: "n1", Capacity: capacity, Labels: labels},
		"too long": {Name: "n1", Capacity: capacity, OS: strings.Repeat("x", maxNodeFactsBytes+1)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { newReplica(t).refused(core.Invalid, c) })
	}
}

func TestDrainAndResumeNode(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	r.accepted(core.DrainNode{Name: "n1", Drain: true, Reason: "fan", By: "ann"})
	node := r.View().Node("n1")
	want(t, "drained", []string{string(node.State()), node.DrainReason, node.DrainedBy}, []string{"DRAINED", "fan", "ann"})
	r.accepted(core.DrainNode{Name: "n1", By: "ann"})
	node = r.View().Node("n1")
	want(t, "resumed", []string{string(node.State()), node.DrainReason, node.DrainedBy}, []string{"IDLE", "", ""})
}

func TestResumeLeavesNodeDown(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true}}})
	r.accepted(core.DrainNode{Name: "n1"})
	want(t, "state", r.View().Node("n1").State(), core.NodeDown)
}

func TestDrainNamesUnknownNode(t *testing.T) {
	newReplica(t).refused(core.NotFound, core.DrainNode{Name: "nx", Drain: true})
}

func TestMarkNodeDownFailsItsJobsEverywhere(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.addNode("n2", 4, 0)
	wide := r.submit(job(on(2)))[0]
	r.mustStart(wide, "n1", "n2")
	other := r.run("n2")
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "no heartbeat for 1m0s"}}})

	got := r.View().Job(wide)
	want(t, "state", got.State, core.JobNodeFail)
	want(t, "reason", got.Reason, core.ReasonNodeDown)
	want(t, "message", got.Message, "node n1 is down: no heartbeat for 1m0s")
	wantState(r, other, core.JobRunning)
	want(t, "on n1", r.View().Node("n1").Jobs, 0)
	want(t, "on n2", r.View().Node("n2").Jobs, 1)
	want(t, "n1", r.View().Node("n1").State(), core.NodeDown)
}

func TestMarkSeveralNodesDownAtOnce(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.addNode("n2", 4, 0)
	id := r.submit(job(on(2)))[0]
	r.mustStart(id, "n1", "n2")
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true}, {Name: "n2", Down: true}}})
	wantState(r, id, core.JobNodeFail)
	want(t, "on n2", r.View().Node("n2").Jobs, 0)
}

func TestMarkNodeUpAgain(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "silent"}}})
	r.accepted(core.MarkNodes{Marks: []core.NodeMark{{Name: "n1"}}})
	want(t, "state", r.View().Node("n1").State(), core.NodeIdle)
	want(t, "reason", r.View().Node("n1").DownReason, "")
}

func TestMarkNodesIsAllOrNone(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 4, 0)
	r.refused(core.NotFound, core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true}, {Name: "nx"}}})
}

func TestAnnounceMemberReplacesWhatWasKnown(t *testing.T) {
	r := newReplica(t)
	r.accepted(core.AnnounceMember{Member: core.Member{ServerID: "b#1", APIAddress: "old"}})
	r.accepted(core.AnnounceMember{Member: core.Member{ServerID: "b#1", APIAddress: "new"}})
	r.accepted(core.AnnounceMember{Member: core.Member{ServerID: "a#1"}})
	want(t, "members", r.View().Members(), []core.Member{{ServerID: "a#1"}, {ServerID: "b#1", APIAddress: "new"}})
	member, _ := r.View().Member("b#1")
	want(t, "member", member.APIAddress, "new")
}

func TestAnnounceMemberNeedsServerID(t *testing.T) {
	newReplica(t).refused(core.Invalid, core.AnnounceMember{})
}
