package supervisor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core/supervisor"
)

// lead runs tasks under a leadership that the test changes, inside a synctest bubble.
func lead(t *testing.T, tasks ...func(ctx context.Context) error) (leadership chan<- bool, stop func()) {
	l := supervisor.NewLeaderTasks(hclog.NewNullLogger())
	for _, task := range tasks {
		l.Add("task", task)
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes, done := make(chan bool), make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx, changes); err != nil {
			t.Errorf("Run gave %v", err)
		}
	}()
	return changes, func() { cancel(); <-done }
}

func TestLeaderTasksRunWhileLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		task := func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			return untilDone(ctx)
		}
		leadership, stop := lead(t, task, task)
		for _, step := range []struct {
			leads bool
			want  int32
		}{{false, 0}, {true, 2}, {true, 2}, {false, 0}, {true, 2}} {
			leadership <- step.leads
			synctest.Wait()
			if got := running.Load(); got != step.want {
				t.Errorf("leads %v: %d tasks run, want %d", step.leads, got, step.want)
			}
		}
		stop()
		if running.Load() != 0 {
			t.Error("Run returned while tasks were running")
		}
	})
}

func TestLeaderTasksOfTwoTermsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, terms atomic.Int32
		leadership, stop := lead(t, func(ctx context.Context) error {
			terms.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			time.Sleep(time.Minute) // slow to let go
			return nil
		})
		for range 5 {
			leadership <- true // the sender is never held up
			leadership <- false
		}
		leadership <- true
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if most.Load() != 1 || terms.Load() != 2 || running.Load() != 1 {
			t.Errorf("at most %d at once in %d terms, %d run now; want 1, 2, 1", most.Load(), terms.Load(), running.Load())
		}
		stop()
	})
}

func TestLeaderTaskThatFailsIsRestartedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Time // only the task, read after stop
		leadership, stop := lead(t, func(context.Context) error {
			starts = append(starts, time.Now())
			return errBroken
		})
		leadership <- true
		time.Sleep(5 * time.Minute)
		stop()
		if len(starts) < 30 || len(starts) > 80 {
			t.Errorf("%d starts in five minutes of failing", len(starts))
		}
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-1]); gap < 50*time.Millisecond || gap > 10*time.Second {
				t.Errorf("%v between starts %d and %d", gap, i, i+1)
			}
		}
	})
}

func TestLeaderTaskThatIsDoneWaitsForTheNextTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		leadership, stop := lead(t, func(context.Context) error { starts.Add(1); return nil })
		leadership <- true
		time.Sleep(time.Hour)
		if starts.Load() != 1 {
			t.Errorf("%d starts in the first term", starts.Load())
		}
		leadership <- false
		synctest.Wait()
		leadership <- true
		synctest.Wait()
		if starts.Load() != 2 {
			t.Errorf("%d starts after the second term began", starts.Load())
		}
		stop()
	})
}

func TestLeaderTasksEndWithTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Bool
		leadership, stop := lead(t, func(ctx context.Context) error {
			running.Store(true)
			defer running.Store(false)
			return untilDone(ctx)
		})
		leadership <- true
		synctest.Wait()
		close(leadership)
		synctest.Wait()
		if running.Load() {
			t.Error("a task outlived the leadership channel")
		}
		stop()
	})
}
