package abi_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk/abi"
)

func smallPlan() *abi.Plan {
	p := &abi.Plan{Cycle: 7}
	p.Add(abi.Proposal{Kind: abi.Start, Job: 1}, 2, 0)
	p.Add(abi.Proposal{Kind: abi.Reserve, Reason: abi.BecauseResources, Job: 2, At: 99}, 1)
	p.Add(abi.Proposal{Kind: abi.Skip, Reason: abi.BecausePriority, Job: 0})
	return p
}

func encodePlan(p *abi.Plan) []byte {
	out := bytes.Repeat([]byte{0xaa}, p.Size())
	p.Encode(out)
	return out
}

func TestPlanComesBackAsItWasWritten(t *testing.T) {
	got, err := abi.DecodePlan(encodePlan(smallPlan()), 7, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(smallPlan(), got); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedPlanIsAnError(t *testing.T) {
	le := binary.LittleEndian
	tests := map[string]struct {
		damage func(src []byte) []byte
		want   string
	}{
		"empty":       {func([]byte) []byte { return nil }, "not a plan"},
		"zeros":       {func([]byte) []byte { return make([]byte, 1<<20) }, "not a plan"},
		"major":       {func(s []byte) []byte { s[4] = 2; return s }, "ABI version 2"},
		"truncated":   {func(s []byte) []byte { return s[:len(s)-4] }, "cannot hold"},
		"proposals":   {func(s []byte) []byte { le.PutUint32(s[12:], 1<<31); return s }, "cannot hold"},
		"cycle":       {func(s []byte) []byte { s[24]++; return s }, "answers cycle 8"},
		"kind":        {func(s []byte) []byte { s[32] = 77; return s }, "unknown kind 77"},
		"job":         {func(s []byte) []byte { s[36] = 3; return s }, "job 3 of 3"},
		"node":        {func(s []byte) []byte { s[len(s)-4] = 3; return s }, "node 3 of 3"},
		"node list":   {func(s []byte) []byte { s[40] = 2; return s }, "outside its plan"},
		"wrap around": {func(s []byte) []byte { le.PutUint32(s[40:], 1<<32-1); return s }, "outside its plan"},
		"no node":     {func(s []byte) []byte { s[44] = 0; return s }, "on no node"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := abi.DecodePlan(test.damage(encodePlan(smallPlan())), 7, 3, 3)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestResultHoldsPointerAndSize(t *testing.T) {
	r := abi.NewResult(0xdeadbeef, 0xfeedf00d)
	if r.Pointer() != 0xdeadbeef || r.Size() != 0xfeedf00d {
		t.Errorf("got %x and %x", r.Pointer(), r.Size())
	}
}

func FuzzDecodePlan(f *testing.F) {
	f.Add(encodePlan(smallPlan()), uint64(7), uint16(3), uint16(3))
	f.Add(encodePlan(&abi.Plan{}), uint64(0), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, src []byte, cycle uint64, nodes, jobs uint16) {
		plan, err := abi.DecodePlan(src, cycle, int(nodes), int(jobs))
		if err != nil {
			return
		}
		for _, proposal := range plan.Proposals {
			if int(proposal.Job) >= int(jobs) {
				t.Fatalf("job %d of %d came through", proposal.Job, jobs)
			}
			for _, n := range plan.NodesOf(proposal) {
				if int(n) >= int(nodes) {
					t.Fatalf("node %d of %d came through", n, nodes)
				}
			}
		}
		again, err := abi.DecodePlan(encodePlan(plan), cycle, int(nodes), int(jobs))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan, again); diff != "" {
			t.Error(diff)
		}
	})
}
