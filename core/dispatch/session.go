package dispatch

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// session is one agent's stream. Three goroutines serve it: serve's own, which does
// everything that is about the session; one that sends; one that receives. None of them
// waits for another session, and nobody else waits for any of them.
type session struct {
	tenure  *tenure
	stream  Stream
	began   time.Time
	node    string // node, agent and address are set before others see the session
	agent   string
	address string

	ledger  ledger
	outbox  *outbox
	outputs *outputs

	welcomed     atomic.Bool  // the outbox begins with Welcome
	heard        atomic.Int64 // of began: when the last message came, as a time.Duration
	sendingSince atomic.Int64 // of began: when the Send under way began; 0: none is

	ending sync.Once
	done   chan struct{} // closed by end
	cause  error         // why, set before done closes
}

func newSession(t *tenure, address string, stream Stream) *session {
	return &session{
		tenure:  t,
		stream:  stream,
		began:   time.Now(),
		address: address,
		ledger:  ledger{jobs: make(map[core.JobID]told)},
		outbox:  newOutbox(),
		outputs: newOutputs(),
		done:    make(chan struct{}),
	}
}

// end ends the session; the first cause counts. It may be called from any goroutine and
// does not block.
func (s *session) end(cause error) {
	s.ending.Do(func() {
		s.cause = cause
		close(s.done)
	})
}

func (s *session) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// silence returns how long the agent has said nothing.
func (s *session) silence() time.Duration {
	return time.Since(s.began) - time.Duration(s.heard.Load())
}

// push queues a message unless the session is over, or ends the session if its agent does not keep up: it will
// come back and be told what is still true.
func (s *session) push(message *wire.ControllerMessage) {
	if !s.over() && !s.outbox.push(message) {
		s.end(core.Errorf(core.Exhausted, "the agent of node %s reads too slowly: %d messages wait", s.node, maxOutbox))
	}
}

// received is what one Receive gave.
type received struct {
	message *wire.AgentMessage
	err     error
}

// serve holds the session to its end.
func (s *session) serve(ctx context.Context) error {
	incoming := make(chan received)
	go s.receive(incoming)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send()
	}()
	s.end(s.converse(ctx, incoming))
	s.outputs.end(core.Errorf(core.Unavailable, "the connection to node %s was lost", s.node))
	if aborter, ok := s.stream.(Aborter); ok {
		aborter.Abort()
	}
	<-sent // a Send must not outlive the handler that owns the stream
	return s.cause
}

// converse greets the agent and handles what it says until the session ends.
func (s *session) converse(ctx context.Context, incoming <-chan received) error {
	tick := time.NewTicker(s.tenure.config.Heartbeat)
	defer tick.Stop()
	hello, err := s.awaitHello(ctx, incoming, tick.C)
	if err != nil {
		return err
	}
	if err := s.greet(ctx, hello); err != nil {
		return err
	}
	defer s.tenure.leave(s)
	log := s.tenure.logger.With("node", s.node, "addr", s.address)
	log.Info("agent connected")
	for err == nil {
		var message *wire.AgentMessage
		if message, err = s.next(ctx, incoming, tick.C); err == nil {
			err = s.handle(message)
		}
	}
	log.Info("agent disconnected", "reason", reason(err))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// reason is the word for an end that is no error.
func reason(err error) string {
	if errors.Is(err, io.EOF) {
		return "closed by the agent"
	}
	return err.Error()
}

// next returns the agent's next message, or why there will be none.
func (s *session) next(ctx context.Context, incoming <-chan received, tick <-chan time.Time) (*wire.AgentMessage, error) {
	for {
		select {
		case <-s.tenure.done:
			return nil, errNotLeading()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.done:
			return nil, s.cause
		case <-tick:
			if err := s.checkLife(); err != nil {
				return nil, err
			}
		case r := <-incoming:
			s.heard.Store(int64(time.Since(s.began)))
			if r.err != nil && !errors.Is(r.err, io.EOF) {
				return nil, core.Errorf(core.Unavailable, "receive from node %q: %w", s.node, r.err)
			}
			return r.message, r.err
		}
	}
}

// checkLife returns an error if the agent neither speaks nor reads.
func (s *session) checkLife() error {
	limit := silentHeartbeats * s.tenure.config.Heartbeat
	if silence := s.silence(); silence >= limit {
		return core.Errorf(core.Unavailable, "node %q at %s said nothing for %v", s.node, s.address, silence.Round(time.Millisecond))
	}
	since := time.Duration(s.sendingSince.Load())
	if since != 0 && time.Since(s.began)-since >= limit {
		return core.Errorf(core.Unavailable, "node %q at %s read nothing for %v", s.node, s.address, limit)
	}
	return nil
}

// handle does what one message asks. It never blocks.
func (s *session) handle(message *wire.AgentMessage) error {
	switch kind := message.GetKind().(type) {
	case *wire.AgentMessage_Heartbeat:
		s.tenure.heart.Heard(s.node, s.agent, kind.Heartbeat.GetLoadAverage())
		return nil
	case *wire.AgentMessage_Reports:
		return s.takeReports(kind.Reports.GetReports())
	case *wire.AgentMessage_Output:
		if s.outputs.deliver(kind.Output) {
			s.push(stopOutput(kind.Output.GetRequest()))
		}
		return nil
	case *wire.AgentMessage_Hello:
		return core.Errorf(core.Invalid, "node %s said hello twice", s.node)
	}
	return core.Errorf(core.Invalid, "node %s sent a message of a kind that this controller does not know", s.node)
}

// receive hands on what comes, until the stream or the session ends.
func (s *session) receive(incoming chan<- received) {
	for {
		message, err := s.stream.Receive()
		select {
		case incoming <- received{message, err}:
		case <-s.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// send sends what is queued, until the session ends.
func (s *session) send() {
	for {
		select {
		case <-s.done:
			return
		case <-s.outbox.ready:
		}
		for _, message := range s.outbox.take() {
			if s.over() {
				return
			}
			s.sendingSince.Store(max(1, int64(time.Since(s.began))))
			err := s.stream.Send(message)
			s.sendingSince.Store(0)
			if err != nil {
				s.end(core.Errorf(core.Unavailable, "send to node %s: %w", s.node, err))
				return
			}
		}
	}
}
