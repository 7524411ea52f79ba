// Package dispatch is the room between the replicated state and the agents' streams, on
// the leader only. It tells each connected agent what the state wants of it (launch this,
// terminate that) and turns what agents report into batched ReportJobs commands. It also
// carries the output of jobs from agents to readers.
//
// It is level-triggered: what an agent must do is worked out from the newest view and
// from what the agent says it has, at every connection anew. Nothing is queued for an
// agent that is away, and a stream that ends, for whatever reason, loses nothing.
//
// core/controller runs Run while this controller leads; core/api hands each agent's
// stream to Serve and reads output with ReadOutput. The package decides nothing: which
// job runs where is the scheduler's, whether a node is down is core/health's.
package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// DefaultHeartbeat is how often an agent says that it lives.
const DefaultHeartbeat = 5 * time.Second

// Stream is the controller's end of one agent's stream. One goroutine sends and another
// receives; *connect.BidiStream is one. If Send can block on a peer that does not read,
// the stream should be an Aborter too: Serve waits for a Send under way.
type Stream interface {
	// Receive returns the next message, io.EOF after the last.
	Receive() (*wire.AgentMessage, error)
	Send(*wire.ControllerMessage) error
}

// Aborter is a Stream that can be cut from the outside.
type Aborter interface {
	// Abort makes every Send and Receive, those under way too, return an error soon.
	Abort()
}

// Proposer is the door into the replicated state.
type Proposer interface {
	// Propose replicates a command and returns what applying it gave, once every earlier
	// entry of the log is in the view too. A command that the state refused is an error.
	Propose(ctx context.Context, command core.Command) (core.Result, error)
}

// Heart is told that agents live. It must not block.
type Heart interface {
	Heard(node, agent string, load float64)
}

// Config is what a Dispatch goes by.
type Config struct {
	Leader    string        // the name of this controller, told to agents
	Heartbeat time.Duration // whole seconds; 0: DefaultHeartbeat
}

// Dispatch serves agents. Its methods may be called from any goroutine.
type Dispatch struct {
	config   Config
	view     func() *state.View
	proposer Proposer
	heart    Heart
	logger   hclog.Logger

	mu     sync.Mutex
	tenure *tenure // guarded by mu; nil unless Run is running
}

// New returns a Dispatch that serves nobody until Run is called. view returns the newest
// state and must not block.
func New(config Config, view func() *state.View, proposer Proposer, heart Heart, logger hclog.Logger) *Dispatch {
	if config.Heartbeat == 0 {
		config.Heartbeat = DefaultHeartbeat
	}
	return &Dispatch{config: config, view: view, proposer: proposer, heart: heart, logger: logger}
}

// Run serves agents until ctx is done, which must be when this controller no longer
// leads: all sessions then end at once, so that agents look for the new leader. It
// returns nil when ctx is done, and a Conflict error if another Run is active.
func (d *Dispatch) Run(ctx context.Context) error {
	t := newTenure(d, ctx.Done())
	d.mu.Lock()
	if d.tenure != nil {
		d.mu.Unlock()
		return core.Errorf(core.Conflict, "dispatch runs already")
	}
	d.tenure = t
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.tenure = nil
		d.mu.Unlock()
	}()
	var group errgroup.Group
	group.Go(func() error { newRouter(t).run(ctx); return nil })
	group.Go(func() error { t.reports.run(ctx); return nil })
	return group.Wait()
}

// Serve holds one agent's session, from its hello to its end, and returns why it ended:
// nil when the agent closed the stream, a NotLeader error when this controller does not
// lead (any more), else an error whose text is a sentence for the agent's log. The
// stream is used by a goroutine of Serve's until its Receive returns, so the caller must
// close or abort the stream once Serve has returned.
func (d *Dispatch) Serve(ctx context.Context, remoteAddr string, stream Stream) error {
	t := d.current()
	if t == nil {
		return errNotLeading()
	}
	return newSession(t, remoteAddr, stream).serve(ctx)
}

// Sessions returns the number of agents that are connected.
func (d *Dispatch) Sessions() int {
	t := d.current()
	if t == nil {
		return 0
	}
	return t.count()
}

func (d *Dispatch) current() *tenure {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tenure
}

func errNotLeading() error {
	return core.Errorf(core.NotLeader, "this controller does not lead: agents belong to the leader")
}
