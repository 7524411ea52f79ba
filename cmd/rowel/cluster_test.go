package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// errSaid is an error of the controller.
var errSaid = errors.New("what the controller said")

func TestNodesPrintsOneLineANode(t *testing.T) {
	f := populated(t)
	down := mixedNode()
	down.Name, down.Down, down.DownReason = "n3", true, "does not answer"
	f.nodes = append(f.nodes, down)
	want := `NODELIST STATE   CPUS(A/I/T) MEMORY(A/T) JOBS REASON
n1       MIXED       4/60/64     2G/256G    1
n2       DRAINED     0/64/64      0/256G    0 replacing the fan
n3       DOWN        4/60/64     2G/256G    1 does not answer
`
	if diff := cmp.Diff(want, f.run(t, "nodes").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestNodeShowPrintsARecordAsScontrolDoes(t *testing.T) {
	want := `NodeName=n1 State=MIXED
   NodeAddr=10.0.0.1 Version=v1.0.0 OS=linux 6.18.0 amd64
   CPUAlloc=4 CPUTot=64 CPULoad=1.50
   AllocMem=2G RealMemory=256G
   RegisterTime=2026-11-30T12:00:00 LastHeard=2026-12-01T12:00:00
   Labels=disk=nvme,rack=r1
   Jobs=7,12_[4-7%2],12_3
`
	if diff := cmp.Diff(want, populated(t).run(t, "node", "show", "n1").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestNodeShowSaysWhoDrainedANodeAndWhy(t *testing.T) {
	f := newFakeAPI(t)
	f.nodes = []*core.Node{drainedNode()}
	want := `NodeName=n2 State=DRAINED
   NodeAddr=10.0.0.2 Version=v1.0.0 OS=
   CPUAlloc=0 CPUTot=64 CPULoad=1.50
   AllocMem=0 RealMemory=256G
   RegisterTime=2026-11-30T12:00:00 LastHeard=2026-12-01T12:00:00
   DrainReason=replacing the fan [root@2026-12-01T11:00:00]
   Jobs=
`
	if diff := cmp.Diff(want, f.run(t, "node", "show", "n2").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestNodeDrainNeedsAReason(t *testing.T) {
	rowel(t, "node", "drain", "n1").fails(t, 64, "node drain: --reason is missing")
	rowel(t, "node", "drain", "--reason", "x").fails(t, 64, "node drain: NODE... is missing")
	rowel(t, "node", "resume", "no spaces").fails(t, 64, "node name")

	f := newFakeAPI(t)
	f.run(t, "node", "drain", "n1", "n2", "--reason", "new fan").ok(t)
	if diff := cmp.Diff(&wire.DrainRequest{Names: []string{"n1", "n2"}, Reason: "new fan"}, f.drained, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	f.run(t, "node", "resume", "n1").ok(t)
	if diff := cmp.Diff(&wire.ResumeRequest{Names: []string{"n1"}}, f.resumed, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestStatusPrintsClusterPolicyAndMembers(t *testing.T) {
	want := `Cluster     prod (c0ffee)
Controller  ctl-1, version v1.0.0: live ok, ready ok
Raft        leader, term 3, applied 119 of 120, snapshot at 100
Leader      ctl-1
Policy      backfill@1.0.0 (0123456789ab): 42 cycles, the last took 1.23ms; 1 strikes, 1 fallbacks, circuit closed; last fault: missed its deadline of 5s
Jobs        2 PENDING, 1 RUNNING, 5 COMPLETED
Nodes       1 IDLE, 1 DOWN
Warning     insecure = true: nothing is encrypted

MEMBER ROLE      RAFT          API           SERVER-ID
ctl-1  leader    10.0.0.1:6821 10.0.0.1:6817 ctl-1#aaaa
ctl-2  voter     10.0.0.2:6821 10.0.0.2:6817 ctl-2#bbbb
ctl-3  non-voter 10.0.0.3:6821               ctl-3#cccc
`
	if diff := cmp.Diff(want, populated(t).run(t, "status").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAFollowerWithoutALeader(t *testing.T) {
	f := newFakeAPI(t)
	f.status = &wire.StatusResponse{Cluster: "prod", ClusterId: "c0ffee", Name: "ctl-2", Version: "v1", Live: "ok", Ready: "no-leader", Role: "candidate", Term: 9}
	want := `Cluster     prod (c0ffee)
Controller  ctl-2, version v1: live ok, ready no-leader
Raft        candidate, term 9, applied 0 of 0, snapshot at 0
Leader      none known
Jobs        none
Nodes       none
`
	if diff := cmp.Diff(want, f.run(t, "status").ok(t)); diff != "" {
		t.Error(diff)
	}
}
