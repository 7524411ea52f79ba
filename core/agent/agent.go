package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

// sweepInterval is how often old output is looked for.
const sweepInterval = time.Hour

// Agent runs jobs on one node. Make it with New and call Run once.
type Agent struct {
	cfg         Config
	capacity    core.Resources
	killWait    time.Duration
	incarnation string // random, told to the controller: one process, one name
	boot        string

	dial   Dialer
	logger hclog.Logger
	pace   pace

	spool    *spool
	registry *registry
	outbox   *outbox
	sessions *sessions
	stops    sync.WaitGroup // one for each call of job.stop under way
	null     *os.File       // every job's standard input; open while Run runs

	// unreadable holds the attempts whose record could not be read. Filled by Run before
	// anything else runs; constant afterwards.
	unreadable map[jobKey]bool
}

// New checks the configuration, measures the node and makes the spool's directories. It
// starts nothing and leaves nothing open. Its error names what to correct.
func New(cfg Config, dial Dialer, logger hclog.Logger) (*Agent, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	capacity, err := measureCapacity(cfg.Capacity)
	if err != nil {
		return nil, err
	}
	spool, err := openSpool(cfg.SpoolDir)
	if err != nil {
		return nil, err
	}
	killWait := cfg.KillWait
	if killWait == 0 {
		killWait = DefaultKillWait
	}
	return &Agent{
		cfg:         cfg,
		capacity:    capacity,
		killWait:    killWait,
		incarnation: rand.Text(),
		boot:        bootID(),
		dial:        dial,
		logger:      logger,
		pace:        defaultPace(),
		spool:       spool,
		registry:    newRegistry(),
		outbox:      newOutbox(),
		sessions:    &sessions{},
		unreadable:  map[jobKey]bool{},
	}, nil
}

// Run serves until ctx is done. Then it ends the jobs (SIGTERM, the kill wait, SIGKILL),
// gives their reports a moment to reach the leader and returns nil; what was not
// acknowledged is told by the next agent on the same spool. It returns an error only if
// it could not begin: the spool is in use by another agent, or cannot be read.
func (a *Agent) Run(ctx context.Context) error {
	lock, err := a.spool.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if a.null, err = os.Open(os.DevNull); err != nil {
		return fmt.Errorf("standard input for jobs: %w", err)
	}
	defer a.null.Close()
	// Jobs must not inherit what this process was started with.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // kernels before 5.11 cannot
	if err := a.recover(ctx); err != nil {
		return err
	}

	// The link outlives ctx: the last ends go out over it.
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	connected := &atomic.Bool{}
	tasks.Go(func() { a.keepLinked(linked, connected) })
	tasks.Go(func() { a.keepSwept(ctx) })
	<-ctx.Done()
	a.endJobs()
	if connected.Load() {
		a.awaitAcknowledgements()
	}
	unlink()
	tasks.Wait()
	a.stops.Wait()
	return nil
}

// endJobs tells everything that runs here to end and waits until it has.
func (a *Agent) endJobs() {
	running := a.registry.close()
	if len(running) > 0 {
		a.logger.Info("agent stops and ends its jobs", "jobs", len(running))
	}
	for _, j := range running {
		a.stop(j, core.JobReport{
			State: core.JobNodeFail, Reason: core.ReasonNodeDown,
			Message: fmt.Sprintf("the agent on %s was stopped while the job ran", a.cfg.NodeName),
		})
	}
	a.registry.running.Wait()
}

func (a *Agent) awaitAcknowledgements() {
	patience := time.NewTimer(a.pace.lastReports)
	defer patience.Stop()
	for !a.outbox.empty() {
		select {
		case <-a.outbox.drained:
		case <-patience.C:
			return
		}
	}
}

// keepSwept removes old output, at once and then every sweepInterval.
func (a *Agent) keepSwept(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		held := func(key jobKey) bool { return a.registry.find(key) != nil || a.outbox.holds(key) }
		if err := a.spool.sweep(time.Now().Add(-outputRetention), held); err != nil {
			a.logger.Warn("old output not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// acknowledge forgets an end that is durable with the controllers.
func (a *Agent) acknowledge(key jobKey) {
	if !a.outbox.acknowledge(key) {
		return
	}
	a.registry.acknowledged(key)
	drop := a.spool.forget
	if a.unreadable[key] {
		drop = a.spool.setAside
	}
	if err := drop(key); err != nil {
		a.logger.Warn("spool record not removed", "job", key.id, "attempt", key.attempt, "error", err)
	}
}
