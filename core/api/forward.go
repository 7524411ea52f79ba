package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
)

// forwardedHeader names the controller that passed a request on. A request is passed on
// once: a second time would mean that two controllers take each other for the leader.
const forwardedHeader = "Rowel-Forwarded-By"

// leaderClients keeps the client to the current leader.
type leaderClients struct {
	mu      sync.Mutex
	address string  // guarded by mu
	client  *Client // guarded by mu
}

func (l *leaderClients) stubs(address string) (*stubs, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.address != address {
		client, err := NewClient([]string{address}, 0)
		if err != nil {
			return nil, err
		}
		if l.client != nil {
			l.client.Close()
		}
		l.address, l.client = address, client
	}
	return &l.client.stubs[0], nil
}

func (l *leaderClients) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
}

// whileLeading returns a context that also ends when the controller at an address is no
// longer the leader: one that has vanished without a word would keep its requests
// waiting until the connection is given up.
func (s *Server) whileLeading(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	passedTo := s.config.Leader()
	go func() {
		for leader := passedTo; leader.Name == passedTo.Name; leader = s.config.Leader() {
			select {
			case <-leader.Changed:
			case <-ctx.Done():
				return
			}
		}
		cancel(core.Errorf(core.Unknown, "leadership moved on from %s while it had this request: it may be done", passedTo.Name))
	}()
	return ctx, func() { cancel(nil) }
}

// leaderStubs returns nil where this replica leads, otherwise the way to who does.
func (s *Server) leaderStubs(header http.Header) (*stubs, error) {
	leader := s.config.Leader()
	switch {
	case leader.Self:
		return nil, nil
	case leader.Name == "":
		return nil, core.Errorf(core.Unavailable, "no leader is elected at the moment")
	case header.Get(forwardedHeader) != "":
		return nil, core.Errorf(core.NotLeader, "controller %s does not lead any more", s.config.Name)
	case leader.APIAddress == "":
		return nil, core.Errorf(core.Unavailable, "leader %s has not announced its API address yet", leader.Name)
	}
	return s.leader.stubs(leader.APIAddress)
}

// carry notes in an outgoing header who the request really comes from.
func (s *Server) carry(id identity, header http.Header) {
	header.Set(forwardedHeader, s.config.Name)
	header.Set(userHeader, id.user)
	header.Set(uidHeader, strconv.FormatUint(uint64(id.uid), 10))
}

// onLeader answers a call here if this replica leads, otherwise passes it on.
func onLeader[Q, A any](
	ctx context.Context, s *Server, request *connect.Request[Q],
	remote func(*stubs) func(context.Context, *connect.Request[Q]) (*connect.Response[A], error),
	here func(context.Context, identity, *Q) (*A, error),
) (*connect.Response[A], error) {
	id := s.identify(ctx, request.Header())
	leader, err := s.leaderStubs(request.Header())
	if err != nil {
		return nil, err
	}
	if leader == nil {
		answer, err := here(ctx, id, request.Msg)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(answer), nil
	}
	outgoing := connect.NewRequest(request.Msg)
	s.carry(id, outgoing.Header())
	passed, release := s.whileLeading(ctx)
	defer release()
	response, err := remote(leader)(passed, outgoing)
	if err != nil {
		return nil, fromLeader(passed, err)
	}
	return connect.NewResponse(response.Msg), nil
}

// read answers a call from the view: at once if the caller takes stale answers, else
// where this replica leads and after a barrier, else by the leader.
func read[Q, A any](
	ctx context.Context, s *Server, stale bool, request *connect.Request[Q],
	remote func(*stubs) func(context.Context, *connect.Request[Q]) (*connect.Response[A], error),
	here func(context.Context, *Q) (*A, error),
) (*connect.Response[A], error) {
	if stale {
		answer, err := here(ctx, request.Msg)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(answer), nil
	}
	return onLeader(ctx, s, request, remote, func(ctx context.Context, _ identity, q *Q) (*A, error) {
		if err := s.config.Replica.Barrier(ctx); err != nil {
			return nil, err
		}
		return here(ctx, q)
	})
}

// fromLeader keeps the leader's sentence and kind. A leader that cannot be reached may
// have done what was asked before it went.
func fromLeader(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); core.KindOf(cause) == core.Unknown {
		return cause
	}
	if notConnected(err) {
		return core.Errorf(core.Unavailable, "the leader does not answer: %w", err)
	}
	return fromWire(err)
}
