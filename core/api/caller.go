package api

import (
	"context"
	"net/http"
	"os"
	"strconv"

	"connectrpc.com/connect"
)

// caller says on every request who sends it, unless a controller that passes a request
// on has said so already. Who believes it is the server's business.
type caller struct{ user, uid string }

var _ connect.Interceptor = (*caller)(nil)

func newCaller() *caller {
	uid := uint32(os.Getuid())
	return &caller{user: userName(uid), uid: strconv.FormatUint(uint64(uid), 10)}
}

func (c *caller) sign(header http.Header) {
	if header.Get(userHeader) == "" {
		header.Set(userHeader, c.user)
		header.Set(uidHeader, c.uid)
	}
}

// WrapUnary signs calls with one answer.
func (c *caller) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		c.sign(request.Header())
		return next(ctx, request)
	}
}

// WrapStreamingClient signs streams.
func (c *caller) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		c.sign(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler leaves servers as they are.
func (c *caller) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
