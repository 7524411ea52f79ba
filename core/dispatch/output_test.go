package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const stdout = wire.OutputStream_OUTPUT_STREAM_STDOUT

// reading is one ReadOutput under way.
type reading struct {
	got    bytes.Buffer // once done
	done   chan error
	cancel context.CancelFunc
}

// read starts to follow the output of a job. gate, if any, is received from before each
// chunk is taken.
func (r *room) read(id core.JobID, offset uint64, gate <-chan struct{}) *reading {
	ctx, cancel := context.WithCancel(context.Background())
	reading := &reading{done: make(chan error, 1), cancel: cancel}
	job := r.job(id)
	go func() {
		reading.done <- r.ReadOutput(ctx, job, stdout, offset, true, func(chunk *wire.OutputChunk) error {
			if gate != nil {
				<-gate
			}
			reading.got.Write(chunk.GetData())
			return nil
		})
	}()
	return reading
}

// asked returns the request for output that the agent is sent next.
func (a *agent) asked() *wire.ReadOutput {
	a.t.Helper()
	message := a.next()
	if message.GetReadOutput() == nil {
		a.t.Fatalf("node %s was told %v, not to read output", a.node, message)
	}
	return message.GetReadOutput()
}

func (a *agent) stopped() uint64 {
	a.t.Helper()
	message := a.next()
	if message.GetStopOutput() == nil {
		a.t.Fatalf("node %s was told %v, not to stop output", a.node, message)
	}
	return message.GetStopOutput().GetRequest()
}

func (a *agent) output(chunk *wire.OutputChunk) {
	a.say(&wire.AgentMessage{Kind: &wire.AgentMessage_Output{Output: chunk}})
}

// withRunningJob runs a test with an agent and a job of its own.
func withRunningJob(t *testing.T, test func(t *testing.T, r *room, a *agent, id core.JobID)) {
	t.Helper()
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		test(t, r, a, id)
	})
}

func TestReadersOfOneNodeGetTheirOwnOutput(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		first := r.read(id, 0, nil)
		askedFirst := a.asked()
		second := r.read(id, 7, nil)
		askedSecond := a.asked()
		if askedSecond.GetOffset() != 7 || !askedSecond.GetFollow() || askedSecond.GetStream() != stdout || askedSecond.GetJob().GetId() != uint64(id) {
			t.Errorf("the agent was asked for %v", askedSecond)
		}
		a.output(&wire.OutputChunk{Request: askedSecond.GetRequest(), Data: []byte("second"), Offset: 7})
		a.output(&wire.OutputChunk{Request: askedFirst.GetRequest(), Data: []byte("first"), Done: true})
		a.output(&wire.OutputChunk{Request: askedSecond.GetRequest(), Offset: 13, Done: true})
		for reading, want := range map[*reading]string{first: "first", second: "second"} {
			if err := <-reading.done; err != nil || reading.got.String() != want {
				t.Errorf("read %q, %v; want %q", reading.got.String(), err, want)
			}
		}
		a.nothing()
	})
}

// A stuck reader must not hold up the session, nor must a slow one lose anything.
func TestSlowReaderIsCutAndAsksForTheRest(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		var content bytes.Buffer
		for i := range 1000 {
			fmt.Fprintf(&content, "line %d\n", i)
		}
		gate := make(chan struct{})
		reading := r.read(id, 0, gate)
		data := content.Bytes()
		asked := a.asked()
		const chunk = 64
		sent := 0
		for ; sent < len(data); sent += chunk {
			if message := a.poll(); message != nil {
				if message.GetStopOutput().GetRequest() != asked.GetRequest() {
					t.Fatalf("the agent was told %v", message)
				}
				break
			}
			a.output(&wire.OutputChunk{Request: asked.GetRequest(), Data: data[sent:min(sent+chunk, len(data))], Offset: uint64(sent)})
		}
		if sent >= len(data) {
			t.Fatal("all went into the buffer of a stuck reader")
		}
		a.report(core.JobCompleted, id) // the session still listens
		a.acked()
		close(gate)
		rest := a.asked()
		if rest.GetOffset() == 0 || rest.GetOffset() > uint64(sent) || rest.GetRequest() == asked.GetRequest() {
			t.Fatalf("%d bytes were sent, then the agent was asked for %v", sent, rest)
		}
		a.output(&wire.OutputChunk{Request: rest.GetRequest(), Data: data[rest.GetOffset():], Offset: rest.GetOffset(), Done: true})
		if err := <-reading.done; err != nil || !bytes.Equal(reading.got.Bytes(), data) {
			t.Errorf("read %d of %d bytes, %v", reading.got.Len(), len(data), err)
		}
	})
}

// poll returns the message that waits for the agent, or nil.
func (a *agent) poll() *wire.ControllerMessage {
	synctest.Wait()
	select {
	case message := <-a.down:
		return message
	default:
		return nil
	}
}

func TestCancelledReaderStopsTheAgent(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		reading := r.read(id, 0, nil)
		asked := a.asked()
		reading.cancel()
		if err := <-reading.done; !errors.Is(err, context.Canceled) {
			t.Errorf("ReadOutput returned %v", err)
		}
		if got := a.stopped(); got != asked.GetRequest() {
			t.Errorf("stopped request %d, want %d", got, asked.GetRequest())
		}
		a.output(&wire.OutputChunk{Request: asked.GetRequest(), Data: []byte("late")}) // is dropped
		a.nothing()
	})
}

func TestReaderIsToldWhatTheAgentSays(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		reading := r.read(id, 0, nil)
		a.output(&wire.OutputChunk{Request: a.asked().GetRequest(), Error: "no such file", Done: true})
		if err := <-reading.done; core.KindOf(err) != core.NotFound || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("ReadOutput returned %v", err)
		}
	})
}

func TestReaderIsToldThatItsNodeIsLost(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		reading := r.read(id, 0, nil)
		a.output(&wire.OutputChunk{Request: a.asked().GetRequest(), Data: []byte("begun")})
		a.hangUp()
		if err := <-reading.done; core.KindOf(err) != core.Unavailable || reading.got.String() != "begun" {
			t.Errorf("ReadOutput gave %q, %v", reading.got.String(), err)
		}
	})
}

// An agent that is away may be on its way, as after a change of leader: who follows a job
// that is not over asks again. Otherwise the file and its node are all that can be told.
func TestOutputOfADisconnectedNodeIsNamed(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		r.node("n1")
		id := r.start("n1")
		want := "node n1 is not connected; the output of job 1 is in /home/ada/slurm-%j.out on it"
		for follow, kind := range map[bool]core.Kind{true: core.Unavailable, false: core.NotFound} {
			err := r.ReadOutput(context.Background(), r.job(id), stdout, 0, follow, func(*wire.OutputChunk) error { return nil })
			if core.KindOf(err) != kind || err.Error() != want {
				t.Errorf("follow %v: ReadOutput returned %s %v, want %s %s", follow, core.KindOf(err), err, kind, want)
			}
		}
	})
}

func TestJobThatHasNotStartedHasNoOutput(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		if err := <-r.read(r.submit(1), 0, nil).done; core.KindOf(err) != core.NotFound {
			t.Errorf("ReadOutput returned %v", err)
		}
	})
}

func TestReadersOfOneNodeAreBounded(t *testing.T) {
	withRunningJob(t, func(t *testing.T, r *room, a *agent, id core.JobID) {
		var readings []*reading
		for range 256 {
			readings = append(readings, r.read(id, 0, nil))
			a.asked()
		}
		if err := <-r.read(id, 0, nil).done; core.KindOf(err) != core.Exhausted {
			t.Errorf("one reader more gets %v", err)
		}
		a.hangUp()
		for _, reading := range readings {
			<-reading.done
		}
	})
}

// Who follows a job from the moment of its start must not be told that its node knows
// nothing of it: the launch goes out before the request.
func TestOutputIsAskedForAfterTheLaunch(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		for range 50 {
			id := r.start("n1")
			reading := r.read(id, 0, nil)
			if launched := a.launched(); launched != id {
				t.Fatalf("launched job %d, want %d", launched, id)
			}
			a.output(&wire.OutputChunk{Request: a.asked().GetRequest(), Done: true})
			if err := <-reading.done; err != nil {
				t.Fatalf("read job %d: %v", id, err)
			}
			a.report(core.JobCompleted, id)
			a.acked()
		}
	})
}
