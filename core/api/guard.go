package api

import (
	"context"
	"runtime/debug"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
)

// guard stands around every call: it refuses everything once the core is dead, gives
// every error its status, and keeps a handler's panic from being anyone else's.
type guard struct{ server *Server }

var _ connect.Interceptor = (*guard)(nil)

// WrapUnary guards calls with one answer.
func (g *guard) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (response connect.AnyResponse, err error) {
		defer g.recover(request.Spec().Procedure, &err)
		if err := g.server.config.Refuse(); err != nil {
			return nil, toWire(err)
		}
		response, err = next(ctx, request)
		return response, toWire(err)
	}
}

// WrapStreamingHandler guards streams.
func (g *guard) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		defer g.recover(conn.Spec().Procedure, &err)
		if err := g.server.config.Refuse(); err != nil {
			return toWire(err)
		}
		return toWire(next(ctx, conn))
	}
}

// WrapStreamingClient leaves clients as they are.
func (g *guard) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (g *guard) recover(procedure string, err *error) {
	if panicked := recover(); panicked != nil {
		g.server.log.Error("call panicked", "call", procedure, "error", panicked, "stack", string(debug.Stack()))
		*err = toWire(core.Errorf(core.Internal, "the controller failed at %s; its log says where", procedure))
	}
}
