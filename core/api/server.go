package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/dispatch"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
	"github.com/rowelhq/rowel/core/wire/wireconnect"
)

// Replica is what the server asks of the consensus member beside it.
type Replica interface {
	// Propose replicates a command and returns what applying it gave.
	Propose(ctx context.Context, command core.Command) (core.Result, error)
	// Barrier returns once everything that was committed when it was called is in the
	// view. It fails where this replica does not lead.
	Barrier(ctx context.Context) error
}

// Leader is where the cluster's leader is.
type Leader struct {
	Self       bool
	Name       string          // empty: none is known
	APIAddress string          // empty: not announced yet
	Changed    <-chan struct{} // closes when another Leader may be the answer
}

// Agents is what the server asks of the room that serves agents' streams.
type Agents interface {
	Serve(ctx context.Context, remoteAddress string, stream dispatch.Stream) error
	ReadOutput(ctx context.Context, job *core.Job, stream wire.OutputStream, offset uint64, follow bool, each func(*wire.OutputChunk) error) error
}

// Config is what a Server is made of. All fields are needed.
type Config struct {
	Name     string // of this controller
	Insecure bool   // believe what clients on TCP say of themselves

	MaxScriptBytes int

	Replica Replica
	View    func() *state.View
	Leader  func() Leader
	Agents  Agents
	History func(history.Filter) (jobs []*core.Job, truncated bool, err error)
	// Heard returns a node's last heartbeat; false where none came to this leader.
	Heard func(node string) (at time.Time, load float64, ok bool)
	// Status describes this controller, without what the view holds.
	Status func() *wire.StatusResponse
	// Admit returns why no job can be taken in at the moment, or nil.
	Admit func() error
	// Refuse returns why nothing can be served, nil in a living controller.
	Refuse func() error

	Logger hclog.Logger
}

// Server answers the API.
type Server struct {
	config Config
	self   uint32 // uid
	leader leaderClients
	log    hclog.Logger
}

// NewServer returns a server; Serve runs it.
func NewServer(config Config) *Server {
	return &Server{config: config, self: uint32(os.Getuid()), log: config.Logger}
}

// Handler returns the API's HTTP handler.
func (s *Server) Handler() http.Handler {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(MaxMessageBytes),
		connect.WithSendMaxBytes(MaxMessageBytes),
		connect.WithInterceptors(&guard{server: s}),
	}
	mux := http.NewServeMux()
	mux.Handle(wireconnect.NewJobServiceHandler(jobService{s}, options...))
	mux.Handle(wireconnect.NewNodeServiceHandler(nodeService{s}, options...))
	mux.Handle(wireconnect.NewClusterServiceHandler(clusterService{s}, options...))
	agents, handler := wireconnect.NewAgentServiceHandler(agentService{s}, options...)
	mux.Handle(agents, abortable(handler))
	return mux
}

// Bounds on connections. A request's own time is bounded by its handler: streams live
// long.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 5 * time.Minute
	maxHeaderBytes = 64 << 10
	maxStreams     = 4096 // requests at once on one connection
)

// Serve answers on the listeners until ctx is done, then ends all requests at once: who
// asked goes to another controller.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           s.Handler(),
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       withPeer,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          s.log.StandardLogger(&hclog.StandardLoggerOptions{InferLevels: false, ForceLevel: hclog.Debug}),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
		},
	}
	group, _ := errgroup.WithContext(ctx)
	for _, listener := range listeners {
		group.Go(func() error { return server.Serve(listener) })
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		_ = server.Close()
	}()
	err := group.Wait()
	if ctx.Err() != nil {
		<-stopped
		s.leader.close()
		return nil
	}
	return err
}
