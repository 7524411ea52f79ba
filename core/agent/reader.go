package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	maxReaders = 64      // at a time, on one stream
	maxChunk   = 1 << 16 // bytes of output in one message
)

// readers answers the leader's requests for output on one stream. Each request has a
// goroutine that waits for room on the stream, so a slow stream slows the reading.
type readers struct {
	agent  *Agent
	chunks chan<- *wire.OutputChunk

	mu      sync.Mutex // guards serving
	serving map[uint64]*reader
	running sync.WaitGroup
}

// reader is one request being served. Its identity matters: the leader may use a number
// again as soon as it has stopped the request that bore it.
type reader struct{ cancel context.CancelFunc }

func newReaders(agent *Agent, chunks chan<- *wire.OutputChunk) *readers {
	return &readers{agent: agent, chunks: chunks, serving: map[uint64]*reader{}}
}

// start serves a request until it is done, stopped, or ctx ends. A request with the
// number of one that is being served is ignored.
func (r *readers) start(ctx context.Context, request *wire.ReadOutput) {
	ctx, cancel := context.WithCancel(ctx)
	number := request.GetRequest()
	r.mu.Lock()
	this := &reader{cancel: cancel}
	_, served := r.serving[number]
	full := len(r.serving) >= maxReaders
	if !served && !full {
		r.serving[number] = this
	}
	r.mu.Unlock()
	if served {
		cancel()
		return
	}

	r.running.Go(func() {
		defer cancel()
		last := &wire.OutputChunk{Request: number, Done: true}
		if full {
			last.Error = "the node serves too many readers of output now: try again later"
		} else {
			defer r.release(number, this)
			offset, err := r.serve(ctx, request)
			last.Offset = offset
			if err != nil {
				last.Error = err.Error()
			}
		}
		if ctx.Err() == nil {
			r.send(ctx, last)
		}
	})
}

// stop ends a request if it is being served; its last chunk is not sent.
func (r *readers) stop(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if served, ok := r.serving[number]; ok {
		served.cancel()
		delete(r.serving, number)
	}
}

// release frees the number of a reader that is done, unless it is another's by now.
func (r *readers) release(number uint64, done *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.serving[number] == done {
		delete(r.serving, number)
	}
}

func (r *readers) send(ctx context.Context, chunk *wire.OutputChunk) bool {
	select {
	case r.chunks <- chunk:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve sends the file from the request's offset on and returns where it stopped.
func (r *readers) serve(ctx context.Context, request *wire.ReadOutput) (uint64, error) {
	offset := request.GetOffset()
	job, err := wire.ToJob(request.GetJob())
	if err != nil {
		return offset, err
	}
	key := jobKey{id: job.ID, attempt: job.Attempt}
	file, err := r.open(ctx, key, job, request)
	if err != nil {
		return offset, err
	}
	defer file.Close()
	data := make([]byte, maxChunk)
	for {
		// Asked before the read: what a job that is over wrote is all there.
		over := r.agent.registry.find(key) == nil
		n, err := file.ReadAt(data, int64(offset))
		if err != nil && !errors.Is(err, io.EOF) {
			return offset, err
		}
		switch {
		case n > 0:
			chunk := &wire.OutputChunk{Request: request.GetRequest(), Data: bytes.Clone(data[:n]), Offset: offset}
			if !r.send(ctx, chunk) {
				return offset, ctx.Err()
			}
			offset += uint64(n)
		case over || !request.GetFollow():
			return offset, nil
		default:
			if err := r.agent.awaitOutput(ctx, key); err != nil {
				return offset, err
			}
		}
	}
}

// open finds the file; whoever follows a job may be here before the job has made it.
func (r *readers) open(ctx context.Context, key jobKey, job *core.Job, request *wire.ReadOutput) (*os.File, error) {
	if request.GetOffset() > math.MaxInt64 {
		return nil, fmt.Errorf("offset %d is beyond any file", request.GetOffset())
	}
	acc, err := resolveAccount(job.Spec, os.Geteuid())
	if err != nil && os.Geteuid() == 0 {
		return nil, err // without the account, root would read what the user may not
	}
	target := r.agent.spool.outputFile(job, r.agent.cfg.NodeName, request.GetStream())
	for {
		over := r.agent.registry.find(key) == nil
		file, err := target.open(acc)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("output of job %s on node %s: %w", job.DisplayID(), r.agent.cfg.NodeName, err)
		case over || !request.GetFollow():
			return nil, fmt.Errorf("node %s has no output of job %s at %s: it did not run here, or the file was removed",
				r.agent.cfg.NodeName, job.DisplayID(), target.path)
		}
		if err := r.agent.awaitOutput(ctx, key); err != nil {
			return nil, err
		}
	}
}

// awaitOutput waits until it is worth looking at a running job's output again.
func (a *Agent) awaitOutput(ctx context.Context, key jobKey) error {
	j := a.registry.find(key)
	if j == nil {
		return nil
	}
	timer := time.NewTimer(a.pace.outputPoll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
