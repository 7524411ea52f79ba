package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/sdk/abi"
)

// Proposer is the door into the replicated state. Propose returns once the command is
// applied, here too, or with an error whose core.Kind is Unknown if it may have been.
type Proposer interface {
	Propose(ctx context.Context, command core.Command) (core.Result, error)
}

// Policy answers pictures with plans. Its calls never overlap.
type Policy interface {
	// Name says what placed a job, such as "backfill@1.0.0".
	Name() string

	// Cycle answers a picture, which is valid, and must not be changed, until Cycle
	// returns. An error is the policy's own fault, which it has counted itself, unless
	// ctx is done.
	Cycle(ctx context.Context, picture *abi.Picture) (*abi.Plan, error)

	// Strike counts a fault that only the core can see: an illegal proposal.
	Strike(kind string, cause error)

	// Open reports whether the circuit is open: the policy has failed too often and is
	// not to be called.
	Open() bool
}

// Config bounds the scheduler. The zero value of a field stands for its default.
type Config struct {
	// MaxJobs is how many pending records a policy is shown, those of the highest
	// priority. Default 10,000.
	MaxJobs int

	// SafetyInterval is how often the policy is called while jobs wait and nothing
	// changes, because time alone can make room for a backfill. Default 5 s.
	SafetyInterval time.Duration

	// ProposeTimeout bounds the wait for one command. Default 10 s.
	ProposeTimeout time.Duration

	// RetryInterval is the first pause after a cycle that failed. It doubles with each
	// failure in a row up to RetryMost. Defaults 100 ms and 10 s.
	RetryInterval time.Duration
	RetryMost     time.Duration
}

func (c Config) withDefaults() Config {
	if c.MaxJobs <= 0 {
		c.MaxJobs = 10_000
	}
	for _, d := range []struct {
		at       *time.Duration
		fallback time.Duration
	}{
		{&c.SafetyInterval, 5 * time.Second},
		{&c.ProposeTimeout, 10 * time.Second},
		{&c.RetryInterval, 100 * time.Millisecond},
		{&c.RetryMost, 10 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.fallback
		}
	}
	return c
}

// Scheduler runs scheduling cycles. Run and Cycle are for one goroutine at a time;
// Stats may be called from any.
type Scheduler struct {
	config   Config
	view     func() *state.View
	proposer Proposer
	policy   Policy
	fallback Policy
	clock    func() time.Time
	log      hclog.Logger

	// Only the goroutine in Run or Cycle.
	picture picture
	ledger  ledger
	number  uint64 // of the last cycle
	settled uint64 // fingerprint of the last picture

	mu    sync.Mutex
	stats Stats // guarded by mu
}

// New returns a scheduler. view gives the newest state; clock gives the time that goes
// into pictures and durations. fallback is asked whenever policy fails or its circuit
// is open; it may be the same one.
func New(
	config Config, view func() *state.View, proposer Proposer, policy, fallback Policy,
	clock func() time.Time, log hclog.Logger,
) *Scheduler {
	return &Scheduler{
		config:   config.withDefaults(),
		view:     view,
		proposer: proposer,
		policy:   policy,
		fallback: fallback,
		clock:    clock,
		log:      log,
	}
}
