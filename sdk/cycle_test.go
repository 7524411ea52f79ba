package sdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

func TestStartTakesFromFreeAndLeavesThePicture(t *testing.T) {
	p := sdktest.New().Nodes(1, 8, 100).Queue(sdktest.Job{ID: 1, CPUs: 3, Memory: 40, Count: 2}).Picture()
	sdk.Run(func(c *sdk.Cycle) {
		if !c.Start(0, 0) {
			t.Fatal("refused")
		}
		if c.Free.CPUs[0] != 5 || c.Free.Memory[0] != 60 || c.Left(0) != 1 {
			t.Errorf("free %d CPUs, %d MiB, %d starts left", c.Free.CPUs[0], c.Free.Memory[0], c.Left(0))
		}
	}, p)
	if p.Nodes.CPUsFree[0] != 8 || p.Nodes.MemoryFree[0] != 100 || p.Jobs.Count[0] != 1+1 {
		t.Error("the picture changed")
	}
}

func TestStartRefusesWhatTheCoreWouldRefuse(t *testing.T) {
	tests := map[string]struct {
		job   uint32
		nodes []uint32
	}{
		"no node":                 {0, nil},
		"too few nodes":           {1, []uint32{0}},
		"too many nodes":          {0, []uint32{0, 1}},
		"a node twice":            {1, []uint32{1, 1}},
		"a node that is not":      {0, []uint32{3}},
		"a job that is not":       {9, []uint32{0}},
		"a node outside the set":  {0, []uint32{2}},
		"too few CPUs on a node":  {2, []uint32{0}},
		"too little memory there": {3, []uint32{0}},
	}
	p := sdktest.New().Nodes(3, 8, 100).Queue(
		sdktest.Job{ID: 1, CPUs: 1, On: []int{0, 1}},
		sdktest.Job{ID: 2, Nodes: 2},
		sdktest.Job{ID: 3, CPUs: 9},
		sdktest.Job{ID: 4, Memory: 101},
	).Picture()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := sdk.Run(func(c *sdk.Cycle) {
				if c.Start(test.job, test.nodes...) {
					t.Error("accepted")
				}
			}, p)
			if diff := cmp.Diff(&abi.Plan{Cycle: 1, Proposals: []abi.Proposal{}}, plan); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStartRefusesAJobThatHasAllItsStarts(t *testing.T) {
	p := sdktest.New().Nodes(1, 8, 100).Queue(sdktest.Job{ID: 1}).Picture()
	sdk.Run(func(c *sdk.Cycle) {
		if !c.Start(0, 0) || c.Start(0, 0) {
			t.Error("want the first start accepted and the second refused")
		}
	}, p)
}
