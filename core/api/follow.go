package api

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// maxWait bounds one Wait call: a client asks again, perhaps of another controller.
const maxWait = 60 * time.Second

// Wait answers when a job is over.
func (s jobService) Wait(ctx context.Context, request *connect.Request[wire.WaitRequest]) (*connect.Response[wire.WaitResponse], error) {
	return onLeader(ctx, s.Server, request,
		func(l *stubs) func(context.Context, *connect.Request[wire.WaitRequest]) (*connect.Response[wire.WaitResponse], error) {
			return l.jobs.Wait
		}, s.wait)
}

func (s jobService) wait(ctx context.Context, _ identity, q *wire.WaitRequest) (*wire.WaitResponse, error) {
	if err := s.config.Replica.Barrier(ctx); err != nil {
		return nil, err
	}
	limit := min(time.Duration(q.GetTimeoutSeconds())*time.Second, maxWait)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	jobs, err := s.until(timed, wire.ToJobRef(q.GetRef()), over)
	if timed.Err() != nil && ctx.Err() == nil {
		return &wire.WaitResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &wire.WaitResponse{Done: true, Jobs: fromJobs(jobs)}, nil
}

// until follows the view until every record of a job has come so far.
func (s *Server) until(ctx context.Context, ref core.JobRef, reached func(*core.Job) bool) ([]*core.Job, error) {
	for {
		view := s.config.View()
		jobs, err := s.resolve(view, ref)
		if err != nil {
			return nil, err
		}
		if all(jobs, reached) {
			return jobs, nil
		}
		if err := s.changed(ctx, view); err != nil {
			return nil, err
		}
	}
}

// changed waits for the next view, on a replica that still leads.
func (s *Server) changed(ctx context.Context, view *state.View) error {
	lead := time.NewTicker(time.Second)
	defer lead.Stop()
	for {
		select {
		case <-view.Changed():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-lead.C:
			if !s.config.Leader().Self {
				return core.Errorf(core.NotLeader, "controller %s does not lead any more", s.config.Name)
			}
		}
	}
}

func over(job *core.Job) bool { return job.State.Terminal() }

func placed(job *core.Job) bool { return job.State != core.JobPending }

func all(jobs []*core.Job, reached func(*core.Job) bool) bool {
	for _, job := range jobs {
		if !reached(job) {
			return false
		}
	}
	return true
}

// Logs streams a job's output.
func (s jobService) Logs(ctx context.Context, request *connect.Request[wire.LogsRequest], stream *connect.ServerStream[wire.LogsResponse]) error {
	leader, err := s.leaderStubs(request.Header())
	if err != nil {
		return err
	}
	if leader != nil {
		return s.passLogs(ctx, leader, request, stream)
	}
	if err := s.config.Replica.Barrier(ctx); err != nil {
		return err
	}
	return s.sendLogs(ctx, request.Msg, stream)
}

// passLogs copies the leader's stream to the client.
func (s jobService) passLogs(ctx context.Context, leader *stubs, request *connect.Request[wire.LogsRequest], stream *connect.ServerStream[wire.LogsResponse]) error {
	outgoing := connect.NewRequest(request.Msg)
	s.carry(s.identify(ctx, request.Header()), outgoing.Header())
	ctx, release := s.whileLeading(ctx)
	defer release()
	from, err := leader.jobs.Logs(ctx, outgoing)
	if err != nil {
		return fromLeader(ctx, err)
	}
	defer from.Close()
	for from.Receive() {
		if err := stream.Send(from.Msg()); err != nil {
			return err
		}
	}
	if err := from.Err(); err != nil {
		return fromLeader(ctx, err)
	}
	return nil
}

func (s jobService) sendLogs(ctx context.Context, q *wire.LogsRequest, stream *connect.ServerStream[wire.LogsResponse]) error {
	ref := wire.ToJobRef(q.GetRef())
	job, err := s.oneJob(s.config.View(), ref)
	if err == nil && q.GetFollow() && job.State == core.JobPending {
		if _, err = s.until(ctx, core.JobRef{ID: job.ID}, placed); err == nil {
			job, err = s.oneJob(s.config.View(), ref)
		}
	}
	switch {
	case err != nil:
		return err
	case len(job.Placements) == 0 && job.State.Terminal() && q.GetFollow():
		return nil // cancelled before it ran: there is nothing to follow
	case len(job.Placements) == 0:
		return core.Errorf(core.Conflict, "job %s has not started, so it has no output yet: it is %s (%s)", job.DisplayID(), job.State, job.Reason)
	}
	return s.readOutputs(ctx, job, q, stream)
}

// readOutputs merges the job's two streams, or sends the one asked for.
func (s jobService) readOutputs(ctx context.Context, job *core.Job, q *wire.LogsRequest, stream *connect.ServerStream[wire.LogsResponse]) error {
	group, ctx := errgroup.WithContext(ctx)
	chunks := make(chan *wire.LogsResponse)
	wanted := []wire.OutputStream{q.GetStream()}
	if q.GetStream() == wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED {
		wanted = []wire.OutputStream{wire.OutputStream_OUTPUT_STREAM_STDOUT}
		if sharesOutput := job.Spec.Output != "" && (job.Spec.Error == "" || job.Spec.Error == job.Spec.Output); !sharesOutput {
			wanted = append(wanted, wire.OutputStream_OUTPUT_STREAM_STDERR)
		}
	}
	var readers errgroup.Group
	for _, which := range wanted {
		offset := q.GetStdoutOffset()
		if which == wire.OutputStream_OUTPUT_STREAM_STDERR {
			offset = q.GetStderrOffset()
		}
		readers.Go(func() error {
			return s.config.Agents.ReadOutput(ctx, job, which, offset, q.GetFollow(), func(chunk *wire.OutputChunk) error {
				select {
				case chunks <- &wire.LogsResponse{Stream: which, Data: chunk.GetData(), Offset: chunk.GetOffset()}:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		})
	}
	group.Go(func() error {
		defer close(chunks)
		return readers.Wait()
	})
	group.Go(func() error {
		for chunk := range chunks {
			if err := stream.Send(chunk); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// oneJob returns the single record that has an output of its own.
func (s *Server) oneJob(view *state.View, ref core.JobRef) (*core.Job, error) {
	jobs, err := s.resolve(view, ref)
	if err != nil {
		return nil, err
	}
	if len(jobs) > 1 || jobs[0].ArrayMaster() {
		return nil, core.Errorf(core.Invalid, "job %d is an array: name one element, such as %d_%d", ref.ID, ref.ID, firstIndex(jobs[0]))
	}
	return jobs[0], nil
}

func firstIndex(job *core.Job) uint32 {
	if job.ArrayMaster() {
		return job.ArrayPending.First()
	}
	return job.ArrayIndex
}
