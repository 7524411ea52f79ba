package dispatch

import (
	"context"
	"net"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// registerTimeout bounds the wait for a registration to be replicated.
const registerTimeout = 10 * time.Second

// awaitHello returns the agent's first message, checked.
func (s *session) awaitHello(ctx context.Context, incoming <-chan received, tick <-chan time.Time) (*wire.AgentHello, error) {
	message, err := s.next(ctx, incoming, tick)
	if err != nil {
		return nil, err
	}
	hello := message.GetHello()
	if hello.GetNode() == nil {
		return nil, core.Errorf(core.Invalid, "an agent's first message must be a hello that names its node")
	}
	if err := core.ValidateNodeName(hello.GetNode().GetName()); err != nil {
		return nil, err
	}
	if hello.GetNode().GetAgent() == "" {
		return nil, core.Errorf(core.Invalid, "the agent of node %s does not say which incarnation it is", hello.GetNode().GetName())
	}
	return hello, nil
}

// greet takes the node's place, registers it, queues Welcome and hands the session to
// the router. If it fails the place is free again.
func (s *session) greet(ctx context.Context, hello *wire.AgentHello) (err error) {
	registration := wire.ToRegisterNode(hello.GetNode())
	if registration.Address == "" {
		registration.Address = host(s.address)
	}
	s.node, s.agent = registration.Name, registration.Agent
	if err := s.tenure.admit(s); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.tenure.leave(s)
		}
	}()
	register, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	// Its success proves that this controller leads and that the view has all that was
	// committed before: a job whose end another leader acknowledged is over in it.
	if _, err := s.tenure.proposer.Propose(register, registration); err != nil {
		return core.Errorf(core.KindOf(err), "register node %s: %w", s.node, err)
	}
	s.heard.Store(int64(time.Since(s.began))) // nobody listened meanwhile
	s.push(welcome(s.tenure.config))
	s.welcomed.Store(true)
	join := joining{session: s}
	for _, run := range hello.GetRunning() {
		join.running = append(join.running, attempt{core.JobID(run.GetJob()), run.GetAttempt()})
	}
	select {
	case s.tenure.joining <- join:
		return nil
	case <-s.tenure.done:
		return errNotLeading()
	case <-s.done:
		return s.cause
	case <-ctx.Done():
		return ctx.Err()
	}
}

func welcome(config Config) *wire.ControllerMessage {
	seconds := max(1, (config.Heartbeat+time.Second-1)/time.Second)
	return &wire.ControllerMessage{Kind: &wire.ControllerMessage_Welcome{Welcome: &wire.Welcome{
		Leader: config.Leader, HeartbeatSeconds: uint32(seconds),
	}}}
}

// host returns the host of a host:port, or all of anything else.
func host(address string) string {
	if name, _, err := net.SplitHostPort(address); err == nil {
		return name
	}
	return address
}
