package backfill_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/backfill"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

type job = sdktest.Job

func easy(t *testing.T, c *sdktest.Cluster) *sdktest.Result {
	t.Helper()
	return sdktest.Schedule(t, c, backfill.EASY)
}

func TestHigherPriorityStartsFirstThenLowerID(t *testing.T) {
	c := sdktest.New().Nodes(1, 8, 0).
		Queue(job{ID: 9, Priority: 1}, job{ID: 7, Priority: 5}, job{ID: 3, Priority: 1}, job{ID: 4, Priority: 5})
	if diff := cmp.Diff([]uint64{4, 7, 3, 9}, easy(t, c).Started()); diff != "" {
		t.Error(diff)
	}
}

func TestBestFitLeavesTheLeastUnused(t *testing.T) {
	tests := map[string]struct {
		cluster *sdktest.Cluster
		want    uint32
	}{
		"fewest CPUs left":   {sdktest.New().Nodes(1, 16, 100).Nodes(1, 4, 100).Nodes(1, 8, 100), 1},
		"then least memory":  {sdktest.New().Nodes(1, 8, 300).Nodes(1, 8, 100).Nodes(1, 8, 200), 1},
		"then lowest weight": {sdktest.New().Nodes(3, 8, 100).Weigh(0, 9).Weigh(1, 9), 2},
		"then lowest row":    {sdktest.New().Nodes(3, 8, 100), 0},
		"enough memory":      {sdktest.New().Nodes(1, 4, 10).Nodes(1, 8, 100), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			easy(t, test.cluster.Queue(job{ID: 1, CPUs: 2, Memory: 50})).Starts(1, test.want)
		})
	}
}

func TestGangStartsOnAllItsNodesOrNone(t *testing.T) {
	c := sdktest.New().Nodes(3, 4, 0).
		Run(job{ID: 1, CPUs: 4, Limit: time.Hour}, 0).
		Queue(job{ID: 2, Priority: 9, Nodes: 3, CPUs: 4, Limit: time.Hour}, job{ID: 3, Nodes: 2, CPUs: 4, Limit: time.Minute})
	easy(t, c).Reserves(2, time.Hour, 0, 1, 2).Starts(3, 1, 2)
}

func TestBackfillStartsWhatEndsBeforeTheReservation(t *testing.T) {
	c := sdktest.New().Nodes(2, 8, 0).
		Run(job{ID: 1, CPUs: 8, Limit: time.Hour}, 0).
		Queue(
			job{ID: 2, Priority: 9, Nodes: 2, CPUs: 8, Limit: time.Hour},
			job{ID: 3, CPUs: 4, Limit: time.Hour},
			job{ID: 4, CPUs: 2, Limit: time.Hour + time.Second},
			job{ID: 5, CPUs: 2},
		)
	easy(t, c).
		Reserves(2, time.Hour, 0, 1).Waits(2, abi.BecauseResources).
		Starts(3, 1).
		Waits(4, abi.BecausePriority).Waits(5, abi.BecausePriority)
}

func TestBackfillUsesWhatTheReservationLeavesOver(t *testing.T) {
	c := sdktest.New().Nodes(1, 8, 0).Nodes(1, 4, 0).
		Run(job{ID: 1, CPUs: 4, Limit: time.Hour}, 0).
		Run(job{ID: 2, CPUs: 1, Limit: 2 * time.Hour}, 0).
		Queue(
			job{ID: 3, Priority: 9, CPUs: 5, Limit: time.Hour}, // node 0 in an hour, where 2 CPUs are over
			job{ID: 4, Priority: 4, CPUs: 3},                   // node 1
			job{ID: 5, Priority: 3, CPUs: 3},                   // would take one CPU too many of node 0
			job{ID: 6, Priority: 2, CPUs: 2},
			job{ID: 7, Priority: 1, CPUs: 1}, // fills node 1
		)
	easy(t, c).Reserves(3, time.Hour, 0).Starts(4, 1).Waits(5, abi.BecausePriority).Starts(6, 0).Starts(7, 1)
}

func TestJobsStartedInThisCycleCountForTheReservation(t *testing.T) {
	c := sdktest.New().Nodes(1, 8, 0).Queue(
		job{ID: 1, Priority: 9, CPUs: 8, Limit: 3 * time.Hour},
		job{ID: 2, Priority: 8, CPUs: 8, Limit: time.Hour},
	)
	easy(t, c).Starts(1, 0).Reserves(2, 3*time.Hour, 0)
}

func TestWaitingForAJobWithoutLimitHasNoTime(t *testing.T) {
	c := sdktest.New().Nodes(1, 8, 0).
		Run(job{ID: 1, CPUs: 5}, 0).
		Queue(
			job{ID: 2, Priority: 9, CPUs: 6},
			job{ID: 3, Priority: 3, CPUs: 3},                         // without limit it would hold one that job 2 needs
			job{ID: 4, Priority: 2, CPUs: 2},                         // over: 8 - 6
			job{ID: 5, Priority: 1, CPUs: 1, Limit: 100 * time.Hour}, // ends before never
		)
	result := easy(t, c).Waits(2, abi.BecauseResources).Waits(3, abi.BecausePriority).Starts(4, 0).Starts(5, 0)
	for _, proposal := range result.Plan.Proposals {
		if proposal.Kind == abi.Reserve {
			t.Errorf("a reservation without a time: %+v", proposal)
		}
	}
}

func TestJobThatCanNeverFitHoldsNobodyUp(t *testing.T) {
	c := sdktest.New().Nodes(2, 8, 0).
		Run(job{ID: 1, CPUs: 6, Limit: time.Hour}, 0).
		Queue(
			job{ID: 2, Priority: 9, CPUs: 9},
			job{ID: 3, Priority: 8, Nodes: 3},
			job{ID: 4, Priority: 7, Nodes: 2, CPUs: 4, Limit: time.Hour},
			job{ID: 5, Priority: 1, CPUs: 2},
		)
	easy(t, c).
		Waits(2, abi.BecauseResources).Waits(3, abi.BecauseResources).
		Reserves(4, time.Hour, 0, 1).Starts(5, 0)
}

func TestOverdueJobIsExpectedToEndNow(t *testing.T) {
	c := sdktest.New().Nodes(1, 8, 0).
		Run(job{ID: 1, CPUs: 8, Limit: -time.Minute}, 0).
		Queue(job{ID: 2, CPUs: 8, Limit: time.Hour})
	easy(t, c).Reserves(2, 0, 0)
}

func TestArrayStartsAsOftenAsItFitsAndMay(t *testing.T) {
	c := sdktest.New().Nodes(2, 4, 0).Queue(
		job{ID: 1, Priority: 9, CPUs: 2, Count: 3, Limit: time.Hour},
		job{ID: 2, Priority: 8, CPUs: 1, Count: 9, Limit: time.Minute},
	)
	result := easy(t, c).Reserves(2, time.Minute, 1)
	if diff := cmp.Diff([]uint64{1, 1, 1, 2, 2}, result.Started()); diff != "" {
		t.Error(diff)
	}
}

func TestJobStaysWithinItsNodeSet(t *testing.T) {
	c := sdktest.New().Nodes(70, 8, 0).
		Run(job{ID: 1, CPUs: 8, Limit: time.Hour}, 69).
		Queue(
			job{ID: 2, Priority: 9, CPUs: 8, On: []int{69}, Limit: time.Hour},
			job{ID: 3, Priority: 8, CPUs: 8, On: []int{68, 69}},
			job{ID: 4, Priority: 7, CPUs: 8, On: []int{}},
		)
	easy(t, c).Reserves(2, time.Hour, 69).Starts(3, 68).Waits(4, abi.BecausePriority)
}

func TestEveryJobThatDoesNotStartHasOneReason(t *testing.T) {
	p := sdktest.Synthetic(1, 50, 400, 0.8)
	plan := sdk.Run(backfill.EASY, p)
	reasons := make([]int, p.Jobs.Len())
	for _, proposal := range plan.Proposals {
		reasons[proposal.Job]++
	}
	if slices.Min(reasons) != 1 || slices.Max(reasons) != 1 {
		t.Errorf("jobs have from %d to %d records each, want exactly one", slices.Min(reasons), slices.Max(reasons))
	}
}

func TestEmptyPictureGivesEmptyPlan(t *testing.T) {
	if plan := easy(t, sdktest.New()).Plan; len(plan.Proposals) != 0 {
		t.Errorf("got %+v", plan.Proposals)
	}
}

func TestJobsWaitForTheFirstNode(t *testing.T) {
	easy(t, sdktest.New().Queue(job{ID: 1})).Waits(1, abi.BecauseResources)
}
