package consensus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// maxHandshakes bounds the connections that have not introduced themselves.
const maxHandshakes = 128

// stream is the raft.StreamLayer: TCP, or whatever the listener and the dialler put on
// it, with a handshake in front that keeps strangers and other clusters out.
type stream struct {
	listener net.Listener
	dial     func(ctx context.Context, address string) (net.Conn, error)
	address  string // advertised
	timeout  time.Duration
	logger   hclog.Logger
	gate     gate

	accepted chan net.Conn // introduced connections for raft
	pending  chan struct{} // a slot for each handshake under way
	ctx      context.Context
	cancel   context.CancelFunc
	closed   chan struct{} // closed by Close; raft's Accept returns then
	once     sync.Once
	wg       sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{} // guarded by mu; every open connection
	isCut   bool                  // guarded by mu
	refused map[string]string     // guarded by mu; sender -> last logged refusal
}

// gate decides who may connect. The member is it.
type gate interface {
	// hello returns what this member says to the target when it dials for Raft.
	hello(targetID, targetAddress string) (hello, error)
	// admit answers a hello. An answer with a Refusal ends the connection.
	admit(p purpose, h hello) answer
	// failed is told that the listener broke.
	failed(err error)
}

func newStream(cfg Config, g gate) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	return &stream{
		listener: cfg.Listener,
		dial:     cfg.Dial,
		address:  cfg.Advertise,
		timeout:  cfg.Timing.Transport,
		logger:   cfg.Logger.Named("transport"),
		gate:     g,
		accepted: make(chan net.Conn),
		pending:  make(chan struct{}, maxHandshakes),
		ctx:      ctx,
		cancel:   cancel,
		closed:   make(chan struct{}),
		conns:    make(map[net.Conn]struct{}),
		refused:  make(map[string]string),
	}
}

// start begins to accept connections; Close waits for that to end as well.
func (s *stream) start() { s.wg.Go(s.serve) }

// serve accepts connections until the stream is cut or closed.
func (s *stream) serve() {
	for {
		select {
		case s.pending <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.listener.Accept()
		if err != nil {
			<-s.pending
			if s.ctx.Err() != nil {
				return
			}
			if isTemporary(err) { // out of file descriptors, say
				s.logger.Warn("cannot accept connections, retrying", "error", err)
				pause(s.ctx, 100*time.Millisecond)
				continue
			}
			s.gate.failed(fmt.Errorf("accept on %s: %w", s.listener.Addr(), err))
			return
		}
		s.wg.Go(func() {
			s.welcome(conn)
			<-s.pending
		})
	}
}

// isTemporary reports whether accepting may work again later.
func isTemporary(err error) bool {
	return !errors.Is(err, net.ErrClosed)
}

// welcome does the handshake of an incoming connection and hands it to raft.
func (s *stream) welcome(raw net.Conn) {
	conn, ok := s.track(raw)
	if !ok {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(s.timeout))
	var h hello
	p, err := readFrame(conn, &h)
	if err != nil {
		s.logger.Debug("closing connection that does not introduce itself", "addr", raw.RemoteAddr().String(), "error", err)
		_ = conn.Close()
		return
	}
	reply := s.gate.admit(p, h)
	if reply.Refusal != "" {
		s.logRefusal(raw, h, reply.Refusal)
	}
	if err := writeFrame(conn, purposeAnswer, reply); err != nil || reply.Refusal != "" || p != purposeRaft {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	select {
	case s.accepted <- conn:
	case <-timer.C: // raft is still starting; the dialler tries again
		_ = conn.Close()
	case <-s.ctx.Done():
		_ = conn.Close()
	}
}

// logRefusal logs a refusal once for each sender and reason: raft tries again and again.
func (s *stream) logRefusal(conn net.Conn, h hello, reason string) {
	s.mu.Lock()
	known := s.refused[h.SenderID] == reason
	if len(s.refused) > 1024 {
		clear(s.refused) // strangers must not fill memory
	}
	s.refused[h.SenderID] = reason
	s.mu.Unlock()
	if !known {
		s.logger.Warn("refusing connection", "addr", conn.RemoteAddr().String(),
			"server", h.SenderID, "cluster_id", h.Cluster, "error", reason)
	}
}

// Dial connects to a server for raft and introduces this member. The address is what
// qualify made: the ID of the server that is meant, and where it is.
func (s *stream) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id, address := unqualify(target)
	h, err := s.gate.hello(id, address)
	if err != nil {
		return nil, err
	}
	conn, reply, err := s.introduce(address, purposeRaft, h, timeout)
	if err != nil {
		return nil, err
	}
	if reply.Cluster != h.Cluster || reply.ServerID != id {
		_ = conn.Close()
		return nil, fmt.Errorf("%s is server %s of cluster %q, not %s of cluster %q",
			address, reply.ServerID, reply.Cluster, id, h.Cluster)
	}
	return conn, nil
}

// ask does a handshake that is not for raft and closes the connection.
func (s *stream) ask(address string, p purpose, h hello) (answer, error) {
	conn, reply, err := s.introduce(address, p, h, s.timeout)
	if err != nil {
		return answer{}, err
	}
	_ = conn.Close()
	return reply, nil
}

func (s *stream) introduce(address string, p purpose, h hello, timeout time.Duration) (net.Conn, answer, error) {
	var reply answer
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	raw, err := s.dial(ctx, address)
	if err != nil {
		return nil, reply, fmt.Errorf("connect to %s: %w", address, err)
	}
	conn, ok := s.track(raw)
	if !ok {
		return nil, reply, net.ErrClosed
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	err = writeFrame(conn, p, h)
	if err == nil {
		_, err = readFrame(conn, &reply)
	}
	if err == nil && reply.Refusal != "" {
		err = errors.New(reply.Refusal)
	}
	if err != nil {
		_ = conn.Close()
		return nil, reply, fmt.Errorf("introduce to %s: %w", address, err)
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, reply, nil
}

// Accept returns the next connection that was introduced, for raft.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.accepted:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Addr returns the advertised address.
func (s *stream) Addr() net.Addr { return advertised(s.address) }

// cutOff ends every connection and lets none begin: the others elect without this
// member. Accept goes on waiting, so that raft does not log what it cannot help.
func (s *stream) cutOff() {
	s.cancel()
	_ = s.listener.Close()
	s.mu.Lock()
	s.isCut = true
	open := make([]net.Conn, 0, len(s.conns))
	for conn := range s.conns {
		open = append(open, conn)
	}
	s.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close()
	}
}

// Close cuts the stream off and ends Accept. It waits for handshakes, which the cut ends.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.cutOff()
		close(s.closed)
	})
	s.wg.Wait()
	return nil
}

// tracked is a connection that the stream can close.
type tracked struct {
	net.Conn
	stream *stream
}

// track registers a connection, or closes it if the stream was cut.
func (s *stream) track(raw net.Conn) (net.Conn, bool) {
	conn := &tracked{Conn: raw, stream: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isCut {
		_ = raw.Close()
		return nil, false
	}
	s.conns[conn] = struct{}{}
	return conn, true
}

// Close closes the connection and forgets it.
func (t *tracked) Close() error {
	t.stream.mu.Lock()
	delete(t.stream.conns, t)
	t.stream.mu.Unlock()
	return t.Conn.Close()
}

// advertised is a host:port as a net.Addr.
type advertised string

func (advertised) Network() string  { return "tcp" }
func (a advertised) String() string { return string(a) }

// qualify puts the ID of the server that is meant into its address, for Dial to find:
// raft's stream layer is told addresses alone. Names and addresses have no "@".
func qualify(id raft.ServerID, address raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(id) + "@" + address
}

func unqualify(target raft.ServerAddress) (id, address string) {
	id, address, found := strings.Cut(string(target), "@")
	if !found {
		return "", string(target)
	}
	return id, address
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
