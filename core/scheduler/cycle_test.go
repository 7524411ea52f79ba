package scheduler_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/scheduler"
	"github.com/rowelhq/rowel/sdk/abi"
)

func TestCycleStartsWhatThePolicyProposes(t *testing.T) {
	c := newCluster(t, size(4, 1024))
	id := c.submit(2)
	out := c.cycle()
	job := c.job(id)
	if job.State != core.JobRunning || job.Policy != "honest@1.0.0" || job.Cycle != out.Cycle {
		t.Fatalf("job is %v, placed by %q in cycle %d; want RUNNING, honest@1.0.0, %d", job.State, job.Policy, job.Cycle, out.Cycle)
	}
	if out.Started != 1 || out.Policy != "honest@1.0.0" || out.FellBack {
		t.Fatalf("outcome %+v", out)
	}
}

func TestCycleGivesAGangAllItsNodes(t *testing.T) {
	c := newCluster(t, size(2, 0), size(2, 0), size(2, 0))
	id := c.submit(2, onNodes(3))
	c.cycle()
	if diff := cmp.Diff([]string{"n1", "n2", "n3"}, c.nodesOf(id)); diff != "" {
		t.Fatal(diff)
	}
}

func TestCycleShowsTheQueueByPriorityThenID(t *testing.T) {
	c := newCluster(t, size(1, 0))
	low, first, second := c.submit(1, nice(100)), c.submit(1), c.submit(1)
	seen := newPolicy("seen@1.0.0", silent)
	c.cycleWith(seen, seen)
	want := []uint64{uint64(first), uint64(second), uint64(low)}
	if diff := cmp.Diff(want, seen.picture.Jobs.ID); diff != "" {
		t.Fatal(diff)
	}
}

func TestCycleShowsOnlyTheFirstMaxJobs(t *testing.T) {
	c := newCluster(t, size(1, 0))
	c.submit(1, nice(1))
	first, second := c.submit(1), c.submit(1)
	seen := newPolicy("seen@1.0.0", silent)
	if _, err := c.scheduler(scheduler.Config{MaxJobs: 2}, seen, seen).Cycle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{uint64(first), uint64(second)}, seen.picture.Jobs.ID); diff != "" {
		t.Fatal(diff)
	}
}

func TestCycleStartsArrayElementsUpToTheirLimit(t *testing.T) {
	c := newCluster(t, size(8, 0))
	id := c.submit(1, array("0-9%3"))
	if out := c.cycle(); out.Started != 3 {
		t.Fatalf("started %d elements, want 3", out.Started)
	}
	if out := c.cycle(); out.Started != 0 {
		t.Fatalf("started %d elements beyond the limit", out.Started)
	}
	if job := c.job(id); job.Reason != core.ReasonJobArrayTaskLimit || job.Message == "" {
		t.Fatalf("what is left waits for %q (%q), want JobArrayTaskLimit with a sentence", job.Reason, job.Message)
	}
}

func TestCycleStartsAWholeArrayInOneCycle(t *testing.T) {
	c := newCluster(t, size(8, 0))
	c.submit(1, array("0-7"))
	if out := c.cycle(); out.Started != 8 {
		t.Fatalf("started %d elements, want 8", out.Started)
	}
}

func TestCycleSplitsALargePlanIntoSeveralCommands(t *testing.T) {
	c := newCluster(t, size(5000, 0))
	c.submit(1, array("0-4999"))
	if out := c.cycle(); out.Started != 5000 {
		t.Fatalf("started %d elements, want 5000", out.Started)
	}
	for _, command := range c.commands {
		if n := len(command.(core.ApplyPlan).Plan.Starts); n > 2048 {
			t.Fatalf("one command holds %d starts", n)
		}
	}
	if len(c.commands) != 3 {
		t.Fatalf("%d commands, want 3", len(c.commands))
	}
}

func TestCycleShowsEndsOfRunningJobs(t *testing.T) {
	c := newCluster(t, size(2, 0))
	limited := c.submit(1)
	endless := c.submit(1, func(s *core.JobSpec) { s.TimeLimit = core.Unlimited })
	c.cycle()
	c.submit(1)
	seen := newPolicy("seen@1.0.0", silent)
	c.cycleWith(seen, seen)
	got := map[uint64]int64{}
	for i, id := range seen.picture.Running.Job {
		got[id] = seen.picture.Running.End[i]
	}
	want := map[uint64]int64{
		uint64(limited): start.UnixMilli() + 3600_000,
		uint64(endless): abi.Never,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestCyclePutsTheEndOfAnOverdueJobAhead(t *testing.T) {
	c := newCluster(t, size(1, 0))
	c.submit(1)
	c.cycle()
	c.now = start.Add(2 * 3600e9)
	c.submit(1)
	seen := newPolicy("seen@1.0.0", silent)
	c.cycleWith(seen, seen)
	if end := seen.picture.Running.End[0]; end <= seen.picture.Now {
		t.Fatalf("a job past its limit ends at %d, which is not after now, %d", end, seen.picture.Now)
	}
}

func TestCyclePictureSurvivesEncoding(t *testing.T) {
	c := newCluster(t, size(4, core.MaxMemoryMiB), size(2, 10))
	c.submit(1, memory(5))
	c.submit(1, onNodes(2), func(s *core.JobSpec) { s.User = "bob" })
	check := newPolicy("check@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
		data := make([]byte, p.Size())
		p.Encode(data)
		opened, err := abi.OpenPicture(data)
		if err != nil {
			return nil, err
		}
		if got := opened.String(opened.Jobs.User[1]); got != "bob" {
			t.Errorf("the second job's user is %q", got)
		}
		if got := opened.String(opened.Nodes.Name[1]); got != "n2" {
			t.Errorf("the second node's name is %q", got)
		}
		return firstFit(opened)
	})
	if out := c.cycleWith(check, check); out.Started != 2 {
		t.Fatalf("outcome %+v", out)
	}
}

func TestRefusedStartIsNoError(t *testing.T) {
	c := newCluster(t, size(1, 0))
	id := c.submit(1)
	drains := newPolicy("slow@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
		c.drain("n1", "while the policy was thinking")
		return firstFit(p)
	})
	if out := c.cycleWith(drains, drains); out.Refused != 1 || out.Started != 0 {
		t.Fatalf("outcome %+v, want one refused start", out)
	}
	if job := c.job(id); job.State != core.JobPending {
		t.Fatalf("job is %v", job.State)
	}
}

func TestCycleReportsAPlanThatWasNotApplied(t *testing.T) {
	c := newCluster(t, size(1, 0))
	id := c.submit(1)
	c.refuse = func(core.Command) error { return core.Errorf(core.Unavailable, "no quorum") }
	honest := newPolicy("honest@1.0.0", firstFit)
	s := c.scheduler(scheduler.Config{}, honest, honest)
	if _, err := s.Cycle(t.Context()); core.KindOf(err) != core.Unavailable {
		t.Fatalf("error %v, want Unavailable", err)
	}
	c.refuse = nil
	if _, err := s.Cycle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if job := c.job(id); job.State != core.JobRunning {
		t.Fatalf("job is %v after the next cycle", job.State)
	}
}

func TestCycleFailsWhenNoPolicyAnswersAndLosesNothing(t *testing.T) {
	c := newCluster(t, size(1, 0))
	id, impossible := c.submit(1), c.submit(9)
	broken := newPolicy("broken@1.0.0", func(*abi.Picture) (*abi.Plan, error) { return nil, errors.New("trap") })
	s := c.scheduler(scheduler.Config{}, broken, broken)
	_, err := s.Cycle(t.Context())
	if err == nil || !strings.Contains(err.Error(), "trap") {
		t.Fatalf("error %v, want the trap", err)
	}
	if job := c.job(id); job.State != core.JobPending {
		t.Fatalf("job is %v", job.State)
	}
	if job := c.job(impossible); job.Reason != core.ReasonBadConstraints {
		t.Fatalf("the impossible job waits for %q although that needs no policy", job.Reason)
	}
	if stats := s.Stats(); stats.Failures != 1 || stats.LastFault == nil {
		t.Fatalf("stats %+v", stats)
	}
}

func TestStatsAddUp(t *testing.T) {
	c := newCluster(t, size(2, 0))
	c.submit(1)
	honest := newPolicy("honest@1.0.0", firstFit)
	s := c.scheduler(scheduler.Config{}, honest, honest)
	for range 3 {
		if _, err := s.Cycle(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.submit(1)
	}
	stats := s.Stats()
	if stats.Cycles != 3 || stats.Started != 2 || stats.Last.Started != 0 || stats.Last.Cycle == 0 {
		t.Fatalf("stats %+v", stats)
	}
}

func TestCycleNumbersGrowPastThoseOfEarlierLeaders(t *testing.T) {
	c := newCluster(t, size(1, 0))
	honest := newPolicy("honest@1.0.0", firstFit)
	var last uint64
	for range 3 {
		s := c.scheduler(scheduler.Config{}, honest, honest) // a new leader
		for range 2 {
			c.submit(1)
			out, err := s.Cycle(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if out.Cycle <= last {
				t.Fatalf("cycle %d after cycle %d", out.Cycle, last)
			}
			last = out.Cycle
		}
	}
}

func TestCycleShowsNothingFreeOnNodesThatTakeNoJobs(t *testing.T) {
	c := newCluster(t, size(4, 100), size(4, 100))
	c.drain("n1", "")
	c.submit(1)
	seen := newPolicy("seen@1.0.0", silent)
	c.cycleWith(seen, seen)
	if diff := cmp.Diff([]uint32{0, 4}, seen.picture.Nodes.CPUsFree); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]uint32{0, 100}, seen.picture.Nodes.MemoryFree); diff != "" {
		t.Fatal(diff)
	}
}

func TestCycleWritesNoReasonForAJobThatStarts(t *testing.T) {
	c := newCluster(t, size(1, 0))
	c.submit(1)
	muddled := newPolicy("muddled@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
		plan, err := firstFit(p)
		plan.Add(abi.Proposal{Kind: abi.Skip, Reason: abi.BecauseResources})
		return plan, err
	})
	if out := c.cycleWith(muddled, muddled); out.Started != 1 || out.Waits != 0 || out.Fault != nil {
		t.Fatalf("outcome %+v", out)
	}
}
