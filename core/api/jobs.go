package api

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// jobService answers rowel.v1.JobService; see core/wire/api.proto for the contract.
type jobService struct{ *Server }

// Submit queues jobs.
func (s jobService) Submit(ctx context.Context, request *connect.Request[wire.SubmitRequest]) (*connect.Response[wire.SubmitResponse], error) {
	return onLeader(ctx, s.Server, request,
		func(l *stubs) func(context.Context, *connect.Request[wire.SubmitRequest]) (*connect.Response[wire.SubmitResponse], error) {
			return l.jobs.Submit
		}, s.submit)
}

func (s jobService) submit(ctx context.Context, id identity, q *wire.SubmitRequest) (*wire.SubmitResponse, error) {
	if err := s.allowWrite(id); err != nil {
		return nil, err
	}
	if err := s.config.Admit(); err != nil {
		return nil, err
	}
	command := core.SubmitJobs{RequestKey: q.GetRequestKey()}
	if command.RequestKey == "" {
		command.RequestKey = NewRequestKey()
	}
	for i, submission := range q.GetJobs() {
		job, err := wire.ToSubmission(submission)
		if err != nil {
			return nil, core.Errorf(core.Invalid, "job %d of the request: %w", i+1, err)
		}
		if id.local && id.uid != 0 && job.Spec.UID != id.uid {
			return nil, core.Errorf(core.Denied, "user %s may not submit jobs of uid %d", id.user, job.Spec.UID)
		}
		if size := len(job.Payload.Script); size > s.config.MaxScriptBytes {
			return nil, core.Errorf(core.Exhausted, "the script has %d bytes, this cluster takes %d: put data in files", size, s.config.MaxScriptBytes)
		}
		command.Jobs = append(command.Jobs, job)
	}
	result, err := s.config.Replica.Propose(ctx, command)
	if err != nil {
		return nil, err
	}
	submitted := result.(core.Submitted)
	return &wire.SubmitResponse{Ids: ids(submitted.Jobs), Duplicate: submitted.Duplicate}, nil
}

// List lists jobs.
func (s jobService) List(ctx context.Context, request *connect.Request[wire.ListJobsRequest]) (*connect.Response[wire.ListJobsResponse], error) {
	return read(ctx, s.Server, request.Msg.GetStale(), request,
		func(l *stubs) func(context.Context, *connect.Request[wire.ListJobsRequest]) (*connect.Response[wire.ListJobsResponse], error) {
			return l.jobs.List
		}, s.list)
}

func (s jobService) list(_ context.Context, q *wire.ListJobsRequest) (*wire.ListJobsResponse, error) {
	view := s.config.View()
	var found []*core.Job
	keep := func(job *core.Job) {
		if matches(job, q.GetStates(), q.GetUsers()) {
			found = append(found, job)
		}
	}
	if len(q.GetIds()) > 0 {
		for _, id := range q.GetIds() {
			jobs, err := view.Resolve(core.JobRef{ID: core.JobID(id)})
			if err != nil {
				return nil, err
			}
			for _, job := range jobs {
				keep(job)
			}
		}
	} else {
		for job := range view.Allocated() {
			keep(job)
		}
		for job := range view.Pending() {
			keep(job)
		}
		if q.GetAll() || slices.ContainsFunc(q.GetStates(), func(s wire.JobState) bool { return core.JobState(s).Terminal() }) {
			for job := range view.Terminal() {
				keep(job)
			}
		}
	}
	slices.SortStableFunc(found, queueOrder)
	return &wire.ListJobsResponse{Jobs: fromJobs(found), Index: view.Index()}, nil
}

// queueOrder puts running jobs first, then pending ones as they are queued, then those
// that are over.
func queueOrder(a, b *core.Job) int {
	phase := func(j *core.Job) int {
		switch {
		case j.State.Allocated():
			return 0
		case j.State == core.JobPending:
			return 1
		}
		return 2
	}
	order := cmp.Compare(phase(a), phase(b))
	if order == 0 && a.State == core.JobPending && b.State == core.JobPending {
		order = cmp.Compare(b.Priority, a.Priority)
	}
	return cmp.Or(order, cmp.Compare(a.ID, b.ID))
}

func matches(job *core.Job, states []wire.JobState, users []string) bool {
	return (len(states) == 0 || slices.Contains(states, wire.JobState(job.State))) &&
		(len(users) == 0 || slices.Contains(users, job.Spec.User))
}

// Get returns one job or array.
func (s jobService) Get(ctx context.Context, request *connect.Request[wire.GetJobRequest]) (*connect.Response[wire.GetJobResponse], error) {
	return read(ctx, s.Server, request.Msg.GetStale(), request,
		func(l *stubs) func(context.Context, *connect.Request[wire.GetJobRequest]) (*connect.Response[wire.GetJobResponse], error) {
			return l.jobs.Get
		}, s.get)
}

func (s jobService) get(_ context.Context, q *wire.GetJobRequest) (*wire.GetJobResponse, error) {
	view := s.config.View()
	jobs, err := s.resolve(view, wire.ToJobRef(q.GetRef()))
	if err != nil {
		return nil, err
	}
	answer := &wire.GetJobResponse{Jobs: fromJobs(jobs)}
	if payload := view.Payload(jobs[0].PayloadID()); payload != nil {
		answer.Payload = wire.FromPayload(payload)
	}
	return answer, nil
}

// resolve finds a job in the state or, once that has forgotten it, in the history.
func (s *Server) resolve(view *state.View, ref core.JobRef) ([]*core.Job, error) {
	jobs, err := view.Resolve(ref)
	if core.KindOf(err) != core.NotFound {
		return jobs, err
	}
	past, pastErr := s.inHistory(ref)
	if pastErr != nil {
		return nil, pastErr
	}
	if len(past) == 0 {
		return nil, err
	}
	return past, nil
}

// Cancel ends jobs.
func (s jobService) Cancel(ctx context.Context, request *connect.Request[wire.CancelRequest]) (*connect.Response[wire.CancelResponse], error) {
	return onLeader(ctx, s.Server, request,
		func(l *stubs) func(context.Context, *connect.Request[wire.CancelRequest]) (*connect.Response[wire.CancelResponse], error) {
			return l.jobs.Cancel
		}, s.cancel)
}

func (s jobService) cancel(ctx context.Context, id identity, q *wire.CancelRequest) (*wire.CancelResponse, error) {
	if err := s.allowWrite(id); err != nil {
		return nil, err
	}
	answer := &wire.CancelResponse{}
	command := core.CancelJobs{By: id.user}
	var outcomes []*wire.CancelOutcome // of those in the command
	for _, wireRef := range q.GetRefs() {
		ref, outcome := wire.ToJobRef(wireRef), &wire.CancelOutcome{}
		answer.Outcomes = append(answer.Outcomes, outcome)
		if err := s.mayCancel(id, ref); err != nil {
			outcome.Error = err.Error()
			continue
		}
		command.Refs, outcomes = append(command.Refs, ref), append(outcomes, outcome)
	}
	if len(command.Refs) == 0 {
		return answer, nil
	}
	result, err := s.config.Replica.Propose(ctx, command)
	if err != nil {
		return nil, err
	}
	for i, refused := range result.(core.Cancelled).Errors {
		if refused != nil {
			outcomes[i].Error = refused.Error()
		}
	}
	return answer, nil
}

// mayCancel lets a user end their own jobs and operators everyone's.
func (s *Server) mayCancel(id identity, ref core.JobRef) error {
	if id.operator(s.self) {
		return nil
	}
	jobs, err := s.config.View().Resolve(ref)
	if err != nil {
		return err
	}
	if owner := jobs[0].Spec; owner.UID != id.uid {
		return core.Errorf(core.Denied, "job %s belongs to %s: user %s may not cancel it", jobs[0].DisplayID(), owner.User, id.user)
	}
	return nil
}
