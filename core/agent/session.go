package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// defaultHeartbeat is used when the leader names no interval.
const defaultHeartbeat = 5 * time.Second

// conversation is one stream, from hello to its loss. One goroutine sends and one
// receives; readers of output hand what they read to the sender.
type conversation struct {
	agent   *Agent
	stream  Stream
	end     context.CancelCauseFunc // ends the stream's context
	chunks  chan *wire.OutputChunk
	readers *readers
	welcome chan time.Duration // the heartbeat interval, once
}

// converse dials a controller and talks to it until the stream is lost, and returns why
// and whether the controller had welcomed the node.
func (a *Agent) converse(parent context.Context, address string, connected *atomic.Bool) (welcomed bool, err error) {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	late := time.AfterFunc(a.pace.welcome, func() {
		end(fmt.Errorf("controller %s did not welcome the node within %v", address, a.pace.welcome))
	})
	defer late.Stop()

	stream, err := a.dial(ctx, address)
	if err != nil {
		return false, fmt.Errorf("dial controller %s: %w", address, err)
	}
	c := &conversation{
		agent: a, stream: stream, end: end,
		chunks:  make(chan *wire.OutputChunk, 4),
		welcome: make(chan time.Duration, 1),
	}
	c.readers = newReaders(a, c.chunks)

	received := make(chan error, 1)
	go func() { received <- c.receive(ctx) }()
	err = c.send(&wire.AgentMessage{Kind: &wire.AgentMessage_Hello{Hello: a.hello()}})
	var interval time.Duration
	if err == nil {
		select {
		case interval = <-c.welcome:
			welcomed = late.Stop()
		case <-ctx.Done():
		}
	}
	if welcomed {
		a.logger.Info("node registered", "addr", address, "node", a.cfg.NodeName)
		connected.Store(true)
		err = c.talk(ctx, interval)
		connected.Store(false)
	}
	return welcomed, c.close(ctx, err, received)
}

// close ends the stream, waits for its goroutines and returns why it was lost. The
// peer's own reason, which Receive gives, says more than a failed Send (io.EOF).
func (c *conversation) close(ctx context.Context, sent error, received <-chan error) error {
	var why error
	if errors.Is(sent, io.EOF) {
		select {
		case why = <-received:
			sent = nil
		case <-time.After(c.agent.pace.backoffMax):
		}
	}
	cause := context.Cause(ctx)
	c.end(nil)
	_ = c.stream.CloseRequest() // the stream is lost: no more can be learned
	_ = c.stream.CloseResponse()
	if why == nil {
		<-received
		why = cause
	}
	c.readers.running.Wait()
	if sent != nil {
		return sent
	}
	return why
}

func (a *Agent) hello() *wire.AgentHello {
	// Live jobs first: one that ends meanwhile is then in the outbox, never in neither.
	listed := map[jobKey]bool{}
	for _, j := range a.registry.jobs() {
		listed[j.key] = true
	}
	for _, key := range a.outbox.keys() {
		listed[key] = true
	}
	running := make([]*wire.RunningJob, 0, len(listed))
	for key := range listed {
		running = append(running, key.message())
	}
	return &wire.AgentHello{
		Node: wire.FromRegisterNode(core.RegisterNode{
			Name:     a.cfg.NodeName,
			Labels:   a.cfg.Labels,
			Capacity: a.capacity,
			Agent:    a.incarnation,
			BootID:   a.boot,
			Version:  a.cfg.Version,
			OS:       osName(),
		}),
		Running: running,
	}
}

// talk sends reports, heartbeats and output until the stream is lost. Output goes only
// when nothing else is due, one chunk at a time, so it never holds the others up.
func (c *conversation) talk(ctx context.Context, interval time.Duration) error {
	outbox := c.agent.outbox
	outbox.resend(time.Now()) // all that earlier streams may have lost
	heartbeat := time.NewTicker(interval)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-outbox.wake:
			err = c.sendReports()
		case <-heartbeat.C:
			err = c.sendHeartbeat()
		default:
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-outbox.wake:
				err = c.sendReports()
			case <-heartbeat.C:
				err = c.sendHeartbeat()
			case chunk := <-c.chunks:
				err = c.send(&wire.AgentMessage{Kind: &wire.AgentMessage_Output{Output: chunk}})
			}
		}
		if err != nil {
			return err
		}
	}
}

func (c *conversation) sendReports() error {
	due := c.agent.outbox.take(time.Now())
	if len(due) == 0 {
		return nil
	}
	reports := make([]*wire.JobReport, len(due))
	for i, report := range due {
		reports[i] = wire.FromReport(report)
	}
	return c.send(&wire.AgentMessage{Kind: &wire.AgentMessage_Reports{Reports: &wire.JobReports{Reports: reports}}})
}

// sendHeartbeat also makes reports due that got no answer for long.
func (c *conversation) sendHeartbeat() error {
	now := time.Now()
	c.agent.outbox.resend(now.Add(-c.agent.pace.resend))
	return c.send(&wire.AgentMessage{Kind: &wire.AgentMessage_Heartbeat{Heartbeat: &wire.Heartbeat{
		SentAt: timestamppb.New(now), LoadAverage: loadAverage(),
	}}})
}

// send gives up on a stream that takes no message for too long.
func (c *conversation) send(message *wire.AgentMessage) error {
	stuck := time.AfterFunc(c.agent.pace.send, func() {
		c.end(fmt.Errorf("the controller took no message for %v", c.agent.pace.send))
	})
	defer stuck.Stop()
	if err := c.stream.Send(message); err != nil {
		return fmt.Errorf("send to controller: %w", err)
	}
	return nil
}

// receive carries out what the leader says. It never waits for a job or a file.
func (c *conversation) receive(ctx context.Context) (err error) {
	defer func() { c.end(err) }()
	welcomed := false
	for {
		message, err := c.stream.Receive()
		if err != nil {
			return fmt.Errorf("receive from controller: %w", err)
		}
		if welcome := message.GetWelcome(); welcome != nil && !welcomed {
			welcomed = true
			interval := time.Duration(welcome.GetHeartbeatSeconds()) * time.Second
			if interval <= 0 {
				interval = defaultHeartbeat
			}
			c.welcome <- interval
			continue
		}
		if !welcomed {
			return fmt.Errorf("the controller's first message is %T, not a welcome", message.GetKind())
		}
		c.obey(ctx, message)
	}
}

func (c *conversation) obey(ctx context.Context, message *wire.ControllerMessage) {
	a := c.agent
	switch kind := message.GetKind().(type) {
	case *wire.ControllerMessage_Launch:
		a.launch(kind.Launch)
	case *wire.ControllerMessage_Terminate:
		a.terminate(kind.Terminate)
	case *wire.ControllerMessage_Ack:
		for _, key := range kind.Ack.GetJobs() {
			a.acknowledge(messageKey(key))
		}
	case *wire.ControllerMessage_ReadOutput:
		c.readers.start(ctx, kind.ReadOutput)
	case *wire.ControllerMessage_StopOutput:
		c.readers.stop(kind.StopOutput.GetRequest())
	default: // a newer controller's; what an agent must understand comes with a new Welcome
		a.logger.Warn("message of unknown kind ignored", "kind", fmt.Sprintf("%T", kind))
	}
}

// terminate ends a job at the controller's word; one that does not run here is ignored.
func (a *Agent) terminate(order *wire.Terminate) {
	j := a.registry.find(jobKey{id: core.JobID(order.GetJob()), attempt: order.GetAttempt()})
	if j == nil {
		return
	}
	a.stop(j, core.JobReport{State: core.JobCancelled, Message: order.GetWhy()})
}
