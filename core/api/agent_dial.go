package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/agent"
	"github.com/rowelhq/rowel/core/wire"
)

// DialAgent opens an agent's stream to the controller at an address, on a connection of
// its own that ends with the stream. It is an agent.Dialer.
func DialAgent(ctx context.Context, address string) (agent.Stream, error) {
	client, err := NewClient([]string{address}, 0)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, client.Close)
	return &agentStream{client.stubs[0].agents.Connect(ctx)}, nil
}

type clientStream = connect.BidiStreamForClient[wire.AgentMessage, wire.ControllerMessage]

// agentStream gives the generated stream's errors their kinds.
type agentStream struct{ *clientStream }

// Send sends one message. Where the stream is already refused, the refusal is what
// counts, and Receive has it.
func (s *agentStream) Send(message *wire.AgentMessage) error {
	return fromWire(s.clientStream.Send(message))
}

// Receive returns the next message, or why the stream ended.
func (s *agentStream) Receive() (*wire.ControllerMessage, error) {
	message, err := s.clientStream.Receive()
	var refusal *connect.Error
	if errors.As(err, &refusal) && kindOfStatus(refusal) == core.NotLeader {
		return nil, &agent.NotLeaderError{Leader: refusal.Meta().Get(leaderHeader)}
	}
	return message, fromWire(err)
}
