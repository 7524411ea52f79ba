package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/scheduler"
	"github.com/rowelhq/rowel/sdk/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run starts the loop in a bubble, with its clock, and returns what stops it.
func run(t *testing.T, c *cluster, config scheduler.Config, policy, fallback scheduler.Policy) (*scheduler.Scheduler, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	s := scheduler.New(config, c.store.View, c, policy, fallback, time.Now, hclog.NewNullLogger())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func TestRunSchedulesAtOnceWhenAJobArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		honest := newPolicy("honest@1.0.0", firstFit)
		_, stop := run(t, c, scheduler.Config{}, honest, honest)
		defer stop()
		synctest.Wait()
		id := c.submit(1)
		synctest.Wait()
		if job := c.job(id); job.State != core.JobRunning {
			t.Fatalf("job is %v with no time gone by", job.State)
		}
	})
}

func TestRunUsesFreedResourcesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		honest := newPolicy("honest@1.0.0", firstFit)
		_, stop := run(t, c, scheduler.Config{}, honest, honest)
		defer stop()
		first, second := c.submit(1), c.submit(1)
		synctest.Wait()
		c.end(first)
		synctest.Wait()
		if job := c.job(second); job.State != core.JobRunning {
			t.Fatalf("the second job is %v", job.State)
		}
	})
}

func TestRunRestsWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		honest := newPolicy("honest@1.0.0", firstFit)
		s, stop := run(t, c, scheduler.Config{}, honest, honest)
		defer stop()
		c.submit(1)
		synctest.Wait()
		before := s.Stats()
		time.Sleep(time.Hour)
		after := s.Stats()
		if after.Cycles != before.Cycles || after.Unchanged != before.Unchanged {
			t.Fatalf("with nothing waiting, cycles grew from %d to %d", before.Cycles, after.Cycles)
		}
	})
}

func TestRunLooksAgainNowAndThenWhileJobsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		honest := newPolicy("honest@1.0.0", firstFit)
		_, stop := run(t, c, scheduler.Config{SafetyInterval: 5 * time.Second}, honest, honest)
		defer stop()
		c.submit(1)
		c.submit(1)
		synctest.Wait()
		before := honest.called()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := honest.called() - before; n != 12 {
			t.Fatalf("the policy was called %d times in a minute, want 12", n)
		}
	})
}

func TestRunDoesNotAskAboutWhatOnlyRecordsDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		honest := newPolicy("honest@1.0.0", firstFit)
		_, stop := run(t, c, scheduler.Config{}, honest, honest)
		defer stop()
		c.submit(1)
		c.submit(1)
		synctest.Wait()
		before := honest.called()
		for range 10 {
			c.must(core.AnnounceMember{Member: core.Member{ServerID: "ctl-1#1"}})
			synctest.Wait()
		}
		if n := honest.called() - before; n != 0 {
			t.Fatalf("the policy was called %d times about news of no interest", n)
		}
	})
}

func TestRunSurvivesAPolicyWhoseReasonsNeverSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		fickle := newPolicy("fickle@1.0.0", nil)
		fickle.answer = func(p *abi.Picture) (*abi.Plan, error) {
			plan := &abi.Plan{Cycle: p.Cycle}
			plan.Add(abi.Proposal{Kind: abi.Skip, Reason: abi.SkipReason(1 + fickle.calls%2)})
			return plan, nil
		}
		_, stop := run(t, c, scheduler.Config{SafetyInterval: 5 * time.Second}, fickle, fickle)
		defer stop()
		c.submit(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := fickle.called(); n > 15 {
			t.Fatalf("the policy was called %d times in a minute", n)
		}
	})
}

func TestRunRestsAsLongAsALongCycleTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		slow := newPolicy("slow@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
			time.Sleep(time.Second)
			return firstFit(p)
		})
		_, stop := run(t, c, scheduler.Config{}, slow, slow)
		defer stop()
		for range 600 { // a change every 100 ms for a minute
			c.submit(1)
			time.Sleep(100 * time.Millisecond)
		}
		if n := slow.called(); n > 31 {
			t.Fatalf("cycles of one second ran %d times in a minute, want at most half of it", n)
		}
	})
}

func TestRunRetriesUntilThePlanIsApplied(t *testing.T) {
	for name, kind := range map[string]core.Kind{"not applied": core.Unavailable, "maybe applied": core.Unknown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, size(1, 0))
				id := c.submit(1)
				var attempts atomic.Int32
				c.refuse = func(command core.Command) error {
					if attempts.Add(1) > 3 {
						return nil
					}
					if kind == core.Unknown {
						c.must(command)
					}
					return core.Errorf(kind, "no quorum")
				}
				honest := newPolicy("honest@1.0.0", firstFit)
				_, stop := run(t, c, scheduler.Config{}, honest, honest)
				defer stop()
				time.Sleep(10 * time.Second)
				if job := c.job(id); job.State != core.JobRunning || job.Attempt != 1 {
					t.Fatalf("job is %v in attempt %d", job.State, job.Attempt)
				}
			})
		})
	}
}

func TestRunBacksOffWhenNoPolicyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, size(1, 0))
		id := c.submit(1)
		broken := newPolicy("broken@1.0.0", func(*abi.Picture) (*abi.Plan, error) { return nil, errors.New("trap") })
		var healed atomic.Bool
		fallback := newPolicy("fallback@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
			if !healed.Load() {
				return nil, errors.New("trap")
			}
			return firstFit(p)
		})
		s, stop := run(t, c, scheduler.Config{}, broken, fallback)
		defer stop()
		time.Sleep(10 * time.Minute)
		if n := s.Stats().Failures; n < 10 || n > 100 {
			t.Fatalf("%d attempts in ten minutes", n)
		}
		healed.Store(true)
		time.Sleep(10 * time.Second)
		if job := c.job(id); job.State != core.JobRunning || job.Policy != "fallback@1.0.0" {
			t.Fatalf("job is %v by %q", job.State, job.Policy)
		}
	})
}
