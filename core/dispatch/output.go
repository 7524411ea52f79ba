package dispatch

import (
	"context"
	"path"
	"sync"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	maxReaders     = 256 // of output, of one node at a time
	bufferedChunks = 32  // of one reader: 2 MiB
)

// ReadOutput has the agent of the job's first node send a stream of its output from an
// offset on, and calls each with every chunk that has data, in order and from the
// caller's goroutine. It returns nil at the end of the output: with follow that is when
// the job is over, else the end of the file. A reader that is slow, or stuck, holds up
// nobody: past a bounded buffer the agent is told to stop, and asked for the rest once
// the buffer is empty.
//
// It returns a NotFound error if the job has not started, its node is not connected or
// the agent has no such output; an Unavailable error if the connection is lost on the
// way, or not there while a job is followed that is not over; ctx's error when ctx is done; and whatever each returns.
func (d *Dispatch) ReadOutput(ctx context.Context, job *core.Job, stream wire.OutputStream, offset uint64, follow bool, each func(*wire.OutputChunk) error) error {
	t := d.current()
	if t == nil {
		return errNotLeading()
	}
	node := firstNode(job)
	if node == "" {
		return core.Errorf(core.NotFound, "job %s has not started: it has no output", job.DisplayID())
	}
	s := t.session(node)
	if s == nil || !s.welcomed.Load() {
		kind := core.NotFound
		if follow && !job.State.Terminal() {
			kind = core.Unavailable // its agent is on its way, as after a change of leader
		}
		return core.Errorf(kind, "node %s is not connected; the output of job %s is in %s on it",
			node, job.DisplayID(), outputFile(job, stream))
	}
	if !job.State.Terminal() {
		// The agent must have heard of the job before it is asked for its output.
		if err := t.routed.await(ctx, t.view().Index(), t.done); err != nil {
			return err
		}
	}
	ask := &wire.ReadOutput{Job: wire.FromJob(job), Stream: stream, Offset: offset, Follow: follow}
	for {
		reader, err := s.outputs.open()
		if err != nil {
			return err
		}
		asked := &wire.ReadOutput{Request: reader.request, Job: ask.Job, Stream: ask.Stream, Offset: ask.Offset, Follow: ask.Follow}
		s.push(&wire.ControllerMessage{Kind: &wire.ControllerMessage_ReadOutput{ReadOutput: asked}})
		done, err := s.pass(ctx, reader, &ask.Offset, each)
		if done || err != nil {
			if s.outputs.close(reader) {
				s.push(stopOutput(reader.request))
			}
			return err
		}
	}
}

// pass hands on the chunks of one request and keeps next at the offset after the last.
// It returns false without an error if the request was cut because its reader is slow.
func (s *session) pass(ctx context.Context, reader *reader, next *uint64, each func(*wire.OutputChunk) error) (done bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case chunk, open := <-reader.chunks:
			if !open {
				return false, reader.lost
			}
			if len(chunk.GetData()) > 0 {
				if err := each(chunk); err != nil {
					return false, err
				}
				*next = chunk.GetOffset() + uint64(len(chunk.GetData()))
			}
			if chunk.GetError() != "" {
				return false, core.Errorf(core.NotFound, "node %s: %s", s.node, chunk.GetError())
			}
			if chunk.GetDone() {
				return true, nil
			}
		}
	}
}

// outputFile says where to look for the output of a job whose node cannot be asked.
func outputFile(job *core.Job, stream wire.OutputStream) string {
	pattern := job.Spec.Output
	if stream == wire.OutputStream_OUTPUT_STREAM_STDERR && job.Spec.Error != "" {
		pattern = job.Spec.Error
	}
	switch {
	case pattern == "":
		return "its agent's spool"
	case path.IsAbs(pattern):
		return pattern
	}
	return path.Join(job.Spec.WorkDir, pattern)
}

// outputs are the requests for output under way in one session.
type outputs struct {
	mu      sync.Mutex
	last    uint64             // guarded by mu; the last request's number
	readers map[uint64]*reader // guarded by mu; by request
	lost    error              // guarded by mu; set when the session is over
}

// reader is one request. Its channel is closed, under the mutex of outputs, once nothing
// more will come: at its last chunk, when it is cut, or when the session is over.
type reader struct {
	request uint64
	chunks  chan *wire.OutputChunk
	lost    error // set before chunks closes; nil: cut
}

func newOutputs() *outputs { return &outputs{readers: make(map[uint64]*reader)} }

// open starts a request.
func (o *outputs) open() (*reader, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return nil, o.lost
	}
	if len(o.readers) >= maxReaders {
		return nil, core.Errorf(core.Exhausted, "%d readers follow the output of jobs on this node: try again later", maxReaders)
	}
	o.last++
	r := &reader{request: o.last, chunks: make(chan *wire.OutputChunk, bufferedChunks)}
	o.readers[r.request] = r
	return r, nil
}

// close forgets a request and reports whether the agent may still be sending for it.
func (o *outputs) close(r *reader) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, open := o.readers[r.request]
	delete(o.readers, r.request)
	return open
}

// deliver hands a chunk to its reader and reports whether the agent must stop, since the
// reader has no room. Chunks that nobody waits for any more are dropped. Only the
// session calls it, so room that was seen is there.
func (o *outputs) deliver(chunk *wire.OutputChunk) (stop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.readers[chunk.GetRequest()]
	if r == nil {
		return false
	}
	if len(r.chunks) == cap(r.chunks) {
		delete(o.readers, r.request)
		close(r.chunks)
		return true
	}
	r.chunks <- chunk
	if chunk.GetDone() {
		delete(o.readers, r.request)
		close(r.chunks)
	}
	return false
}

// end tells all readers, and those to come, that the session is over.
func (o *outputs) end(lost error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = lost
	for request, r := range o.readers {
		r.lost = lost
		close(r.chunks)
		delete(o.readers, request)
	}
}

func stopOutput(request uint64) *wire.ControllerMessage {
	return &wire.ControllerMessage{Kind: &wire.ControllerMessage_StopOutput{StopOutput: &wire.StopOutput{Request: request}}}
}
