package health

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

// Proposer is the door into the replicated state.
type Proposer interface {
	Propose(ctx context.Context, command core.Command) (core.Result, error)
}

// Config is when a node counts as gone and as back. The zero value of a field stands
// for its default.
type Config struct {
	// DownAfter is the silence after which a node is down and its jobs end as
	// NODE_FAIL. Default 60 s.
	DownAfter time.Duration

	// HeartbeatEvery is how often agents send heartbeats, and how often they are
	// looked at. Default 5 s.
	HeartbeatEvery time.Duration

	// RecoverAfter is how many heartbeats in a row bring a node back. Default 2.
	RecoverAfter int

	// ProposeTimeout bounds the wait for one command. Default 10 s.
	ProposeTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.DownAfter <= 0 {
		c.DownAfter = time.Minute
	}
	if c.HeartbeatEvery <= 0 {
		c.HeartbeatEvery = 5 * time.Second
	}
	if c.RecoverAfter <= 0 {
		c.RecoverAfter = 2
	}
	if c.ProposeTimeout <= 0 {
		c.ProposeTimeout = 10 * time.Second
	}
	return c
}

// missedBeats is how many heartbeats may be late or lost before those that follow do
// not count as in a row with those before.
const missedBeats = 3

// Monitor listens for heartbeats. Its methods may be called from any goroutine.
type Monitor struct {
	config   Config
	view     func() *state.View
	proposer Proposer
	clock    func() time.Time
	log      hclog.Logger

	mu    sync.Mutex
	beats map[string]*beat // by node; guarded by mu, the beats too
}

// beat is what is known of one registration of a node.
type beat struct {
	agent  string
	since  time.Time // silence counts from here: the last heartbeat, or the start of a grace
	heard  time.Time // the last heartbeat; zero: none yet
	load   float64
	streak int
}

// New returns a monitor that has heard nobody yet. view gives the newest state.
func New(config Config, view func() *state.View, proposer Proposer, clock func() time.Time, log hclog.Logger) *Monitor {
	return &Monitor{
		config:   config.withDefaults(),
		view:     view,
		proposer: proposer,
		clock:    clock,
		log:      log,
		beats:    map[string]*beat{},
	}
}

// Heard notes a heartbeat of a node's agent, with the load average of its machine. One
// of a registration that does not speak for the node, such as an agent that another has
// replaced, is ignored. It takes about a microsecond and never blocks for long.
func (m *Monitor) Heard(node, agent string, load float64) {
	known := m.view().Node(node)
	if known == nil || known.Agent != agent {
		return
	}
	now := m.clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.beatOf(known, now)
	if now.Sub(b.heard) > missedBeats*m.config.HeartbeatEvery {
		b.streak = 0
	}
	b.since, b.heard, b.load = now, now, load
	b.streak++
}

// LastHeard returns when a node's agent was last heard by this controller, and its load
// then; false if it has not been heard since it registered or since this controller
// became the leader.
func (m *Monitor) LastHeard(node string) (at time.Time, load float64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.beats[node]
	if b == nil || b.heard.IsZero() {
		return time.Time{}, 0, false
	}
	return b.heard, b.load, true
}

// beatOf returns what is known of the registration that speaks for a node. A new one
// starts with a whole grace period. The caller holds mu.
func (m *Monitor) beatOf(node *core.Node, now time.Time) *beat {
	b := m.beats[node.Name]
	if b == nil || b.agent != node.Agent {
		b = &beat{agent: node.Agent, since: now}
		m.beats[node.Name] = b
	}
	return b
}
