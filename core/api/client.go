package api

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire/wireconnect"
)

// DefaultPatience is how long a call goes on trying the controllers it knows while none
// of them can answer: long enough for an election.
const DefaultPatience = 15 * time.Second

// maxPause bounds the wait between two rounds of asking every controller: an election
// takes about a second, and who waits for it should not oversleep.
const maxPause = 150 * time.Millisecond

// Client talks to a cluster through any of its controllers. When the one it uses stops
// answering or cannot serve, it tries the others in turn. Safe for concurrent use.
type Client struct {
	endpoints []*endpoint
	stubs     []stubs
	current   atomic.Uint32
	patience  time.Duration
}

// stubs are the generated clients of one endpoint.
type stubs struct {
	jobs    wireconnect.JobServiceClient
	nodes   wireconnect.NodeServiceClient
	cluster wireconnect.ClusterServiceClient
	agents  wireconnect.AgentServiceClient
}

// NewClient returns a client for controllers at these addresses ("host:port" or
// "unix:/path"), tried in this order. It connects when first used. patience bounds how
// long a call looks for a controller that can answer; 0 means DefaultPatience.
func NewClient(addresses []string, patience time.Duration) (*Client, error) {
	if len(addresses) == 0 {
		return nil, core.Errorf(core.Invalid, "no controller address is given")
	}
	c := &Client{patience: patience}
	if c.patience == 0 {
		c.patience = DefaultPatience
	}
	options := []connect.ClientOption{
		connect.WithInterceptors(newCaller()),
		connect.WithReadMaxBytes(MaxMessageBytes),
		connect.WithSendMaxBytes(MaxMessageBytes),
	}
	for _, address := range addresses {
		e, err := newEndpoint(strings.TrimSpace(address))
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, e)
		c.stubs = append(c.stubs, stubs{
			jobs:    wireconnect.NewJobServiceClient(e.client, e.baseURL, options...),
			nodes:   wireconnect.NewNodeServiceClient(e.client, e.baseURL, options...),
			cluster: wireconnect.NewClusterServiceClient(e.client, e.baseURL, options...),
			agents:  wireconnect.NewAgentServiceClient(e.client, e.baseURL, options...),
		})
	}
	return c, nil
}

// Close drops the client's connections.
func (c *Client) Close() {
	for _, e := range c.endpoints {
		e.close()
	}
}

// call runs one request on the current controller and, while the answer says that
// nothing was done or that repeating is harmless, on the next ones. When nobody even
// listens it gives up after a fifth of the client's patience.
func (c *Client) call(ctx context.Context, repeatable bool, do func(context.Context, *stubs) error) error {
	started := time.Now()
	pause := 20 * time.Millisecond
	for attempt := 1; ; attempt++ {
		at := c.current.Load() % uint32(len(c.stubs))
		err := do(ctx, &c.stubs[at])
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return core.Errorf(core.Unknown, "interrupted while waiting for the controller: %w", context.Cause(ctx))
		}
		unreachable := notConnected(err)
		kind := core.KindOf(fromWire(err))
		again := unreachable || kind == core.Unavailable || kind == core.NotLeader || (repeatable && kind == core.Unknown)
		if !again {
			return fromWire(err)
		}
		c.current.CompareAndSwap(at, (at+1)%uint32(len(c.stubs)))
		if attempt%len(c.stubs) != 0 {
			continue
		}
		if waited := time.Since(started) + pause; waited > c.patience || (unreachable && waited > c.patience/5) {
			return c.exhausted(err, unreachable)
		}
		if err := sleep(ctx, pause); err != nil {
			return core.Errorf(core.Unknown, "interrupted while waiting for the controller: %w", err)
		}
		pause = min(2*pause, maxPause)
	}
}

func (c *Client) exhausted(err error, unreachable bool) error {
	var addresses []string
	for _, e := range c.endpoints {
		addresses = append(addresses, e.address)
	}
	if unreachable {
		return core.Errorf(core.Unavailable, "no controller answers at %s (%s): is one running? Set --address or ROWEL_ADDR to reach another",
			strings.Join(addresses, ", "), rootCause(err))
	}
	return core.Errorf(core.Unavailable, "no controller at %s can serve now: %w", strings.Join(addresses, ", "), fromWire(err))
}

// notConnected reports whether the request never reached a controller.
func notConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func rootCause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
