package supervisor

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Restarts of a failing leader task wait between these, doubling, with jitter.
const (
	minRestartWait = 100 * time.Millisecond
	maxRestartWait = 10 * time.Second
)

// LeaderTasks runs a set of tasks while this replica leads, and only then.
type LeaderTasks struct {
	logger hclog.Logger
	tasks  []leaderTask
}

type leaderTask struct {
	name string
	run  func(ctx context.Context) error
}

// NewLeaderTasks makes an empty set.
func NewLeaderTasks(logger hclog.Logger) *LeaderTasks {
	return &LeaderTasks{logger: logger}
}

// Add adds a task, before Run. Its ctx ends with the leadership, and it must return soon
// after: the next leadership waits for it. A task that returns an error is started again
// after a wait; one that returns nil is done until the next leadership.
func (l *LeaderTasks) Add(name string, run func(ctx context.Context) error) {
	l.tasks = append(l.tasks, leaderTask{name, run})
}

// Run follows the leadership channel until ctx is done or the channel is closed; true
// means that this replica leads. It returns when no task runs any more. It never stops
// receiving, also while tasks take long to end, so that it cannot hold up the sender.
func (l *LeaderTasks) Run(ctx context.Context, leadership <-chan bool) error {
	var (
		leads bool
		term  *term // the tasks that run, also while they end; nil when none does
	)
	defer func() {
		if term != nil {
			term.cancel()
			<-term.ended
		}
	}()
	for {
		var ended <-chan struct{}
		if term != nil {
			ended = term.ended
		}
		select {
		case <-ctx.Done():
			return nil
		case now, open := <-leadership:
			if !open {
				return nil
			}
			leads = now
		case <-ended:
			term = nil
		}
		switch {
		case leads && term == nil:
			term = l.begin(ctx)
		case !leads && term != nil:
			term.cancel()
		}
	}
}

// term is one run of every task, from a leadership gained to the last task's return.
type term struct {
	cancel context.CancelFunc
	ended  <-chan struct{} // closes when cancel was called and no task runs
}

func (l *LeaderTasks) begin(ctx context.Context) *term {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, task := range l.tasks {
		running.Go(func() { l.keepRunning(ctx, task) })
	}
	ended := make(chan struct{})
	go func() {
		<-ctx.Done()
		running.Wait()
		close(ended)
	}()
	return &term{cancel: cancel, ended: ended}
}

// keepRunning restarts a task that fails until it is done or the leadership is lost.
func (l *LeaderTasks) keepRunning(ctx context.Context, task leaderTask) {
	wait := minRestartWait
	for attempt := 1; ; attempt++ {
		began := time.Now()
		err := task.run(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxRestartWait {
			wait, attempt = minRestartWait, 1 // it had recovered
		}
		pause := wait/2 + rand.N(wait/2)
		l.logger.Warn("leader task failed, restarting", "task", task.name, "attempt", attempt, "after", pause, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		wait = min(2*wait, maxRestartWait)
	}
}
