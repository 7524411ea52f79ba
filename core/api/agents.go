package api

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// leaderHeader carries the leader's API address to an agent that asked another replica.
const leaderHeader = "Rowel-Leader"

// agentService answers rowel.v1.AgentService; see core/wire/agent.proto for the
// contract.
type agentService struct{ *Server }

// Connect serves one agent for as long as this replica leads.
func (s agentService) Connect(ctx context.Context, stream *connect.BidiStream[wire.AgentMessage, wire.ControllerMessage]) error {
	id := s.identify(ctx, stream.RequestHeader())
	if err := s.allowWrite(id); err != nil {
		return err
	}
	if !id.operator(s.self) {
		return core.Errorf(core.Denied, "user %s may not run an agent for this controller: that takes root or the controller's own user", id.user)
	}
	if leader := s.config.Leader(); !leader.Self {
		refusal := connect.NewError(connect.CodeFailedPrecondition, core.Errorf(core.NotLeader, "controller %s does not lead", s.config.Name))
		refusal.Meta().Set(kindHeader, core.NotLeader.String())
		if leader.APIAddress != "" {
			refusal.Meta().Set(leaderHeader, leader.APIAddress)
		}
		return refusal
	}
	abort, _ := ctx.Value(abortKey{}).(func())
	return s.config.Agents.Serve(ctx, stream.Peer().Addr, serverStream{stream, abort})
}

// serverStream is an agent's stream that can be cut while a Send waits for a peer that
// does not read.
type serverStream struct {
	*connect.BidiStream[wire.AgentMessage, wire.ControllerMessage]
	abort func()
}

// Abort makes every Send and Receive return an error soon.
func (s serverStream) Abort() {
	if s.abort != nil {
		s.abort()
	}
}

type abortKey struct{}

// abortable lets the handlers below it cut their request's connection by deadlines in
// the past.
func abortable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		abort := func() {
			past := time.Unix(1, 0)
			_ = control.SetReadDeadline(past)
			_ = control.SetWriteDeadline(past)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), abortKey{}, abort)))
	})
}
