package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	defaultHistoryLimit = 1000
	maxHistoryLimit     = 100_000
)

// History returns jobs of now and before.
func (s jobService) History(ctx context.Context, request *connect.Request[wire.HistoryRequest]) (*connect.Response[wire.HistoryResponse], error) {
	return read(ctx, s.Server, request.Msg.GetStale(), request,
		func(l *stubs) func(context.Context, *connect.Request[wire.HistoryRequest]) (*connect.Response[wire.HistoryResponse], error) {
			return l.jobs.History
		}, s.history)
}

func (s jobService) history(_ context.Context, q *wire.HistoryRequest) (*wire.HistoryResponse, error) {
	limit := int(q.GetLimit())
	if limit == 0 {
		limit = defaultHistoryLimit
	}
	filter := history.Filter{Users: q.GetUsers(), Since: moment(q.GetSince()), Until: moment(q.GetUntil()), Limit: min(limit, maxHistoryLimit)}
	for _, id := range q.GetIds() {
		filter.IDs = append(filter.IDs, core.JobID(id))
	}
	for _, state := range q.GetStates() {
		filter.States = append(filter.States, core.JobState(state))
	}
	past, truncated, err := s.config.History(filter)
	if err != nil {
		return nil, err
	}
	jobs := history.Merge(past, s.live(filter))
	slices.SortStableFunc(jobs, func(a, b *core.Job) int {
		return cmp.Or(b.SubmittedAt.Compare(a.SubmittedAt), cmp.Compare(b.ID, a.ID))
	})
	if len(jobs) > filter.Limit {
		jobs, truncated = jobs[:filter.Limit], true
	}
	return &wire.HistoryResponse{Jobs: fromJobs(jobs), Truncated: truncated}, nil
}

// live returns the jobs of the state that a filter takes: those that run or wait, and
// those that are over but perhaps not in the history file yet.
func (s *Server) live(filter history.Filter) []*core.Job {
	var jobs []*core.Job
	view := s.config.View()
	for job := range view.Allocated() {
		if filter.Takes(job) {
			jobs = append(jobs, job)
		}
	}
	for job := range view.Pending() {
		if filter.Takes(job) {
			jobs = append(jobs, job)
		}
	}
	for job := range view.Terminal() {
		if filter.Takes(job) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// inHistory finds a job that the state has forgotten.
func (s *Server) inHistory(ref core.JobRef) ([]*core.Job, error) {
	jobs, _, err := s.config.History(history.Filter{IDs: []core.JobID{ref.ID}, Limit: core.MaxArrayElements})
	if err != nil || ref.Index == nil {
		return jobs, err
	}
	for _, job := range jobs {
		if job.ArrayID == ref.ID && !job.ArrayMaster() && job.ArrayIndex == *ref.Index {
			return []*core.Job{job}, nil
		}
	}
	return nil, nil
}

func moment(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
