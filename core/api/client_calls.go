package api

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// NewRequestKey returns a key for one submission. Repeating a submission with the same
// key, through any controller, queues nothing twice.
func NewRequestKey() string { return rand.Text() }

// Submit queues jobs, all or none, and returns their IDs in order. It repeats itself
// with the same key until it is known to be done.
func (c *Client) Submit(ctx context.Context, key string, jobs []core.Submission) (core.Submitted, error) {
	request := &wire.SubmitRequest{RequestKey: key}
	for i := range jobs {
		request.Jobs = append(request.Jobs, wire.FromSubmission(&jobs[i]))
	}
	var result core.Submitted
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.jobs.Submit(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		result.Duplicate = response.Msg.GetDuplicate()
		result.Jobs = result.Jobs[:0]
		for _, id := range response.Msg.GetIds() {
			result.Jobs = append(result.Jobs, core.JobID(id))
		}
		return nil
	})
	return result, err
}

// JobFilter narrows a list of jobs. The zero value lists all that are not over.
type JobFilter struct {
	IDs    []core.JobID // an array's ID gives all its records
	Users  []string
	States []core.JobState
	All    bool // also those that are over and still kept
	Stale  bool // whatever the controller that is asked has
}

// Jobs lists jobs: running first, then pending by priority, then the rest.
func (c *Client) Jobs(ctx context.Context, f JobFilter) ([]*core.Job, error) {
	request := &wire.ListJobsRequest{Stale: f.Stale, Users: f.Users, All: f.All, Ids: ids(f.IDs), States: states(f.States)}
	var jobs []*core.Job
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.jobs.List(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		jobs, err = toJobs(response.Msg.GetJobs())
		return err
	})
	return jobs, err
}

// Job returns the records that ref names, several for an array, and what they run while
// any of them is not over.
func (c *Client) Job(ctx context.Context, ref core.JobRef, stale bool) ([]*core.Job, *core.Payload, error) {
	var (
		jobs    []*core.Job
		payload *core.Payload
	)
	request := &wire.GetJobRequest{Ref: wire.FromJobRef(ref), Stale: stale}
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.jobs.Get(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		if response.Msg.GetPayload() != nil {
			payload = wire.ToPayload(response.Msg.GetPayload())
		}
		jobs, err = toJobs(response.Msg.GetJobs())
		return err
	})
	return jobs, payload, err
}

// Cancel asks for jobs to be ended and returns one error, or nil, for each.
func (c *Client) Cancel(ctx context.Context, refs []core.JobRef) ([]error, error) {
	request := &wire.CancelRequest{}
	for _, ref := range refs {
		request.Refs = append(request.Refs, wire.FromJobRef(ref))
	}
	outcomes := make([]error, len(refs))
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.jobs.Cancel(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		for i, outcome := range response.Msg.GetOutcomes() {
			if i < len(outcomes) && outcome.GetError() != "" {
				outcomes[i] = errors.New(outcome.GetError())
			}
		}
		return nil
	})
	return outcomes, err
}

// Wait blocks until every record that ref names is over, through changes of leader.
func (c *Client) Wait(ctx context.Context, ref core.JobRef) ([]*core.Job, error) {
	request := &wire.WaitRequest{Ref: wire.FromJobRef(ref), TimeoutSeconds: 30}
	for {
		var response *connect.Response[wire.WaitResponse]
		err := c.call(ctx, true, func(ctx context.Context, s *stubs) (err error) {
			response, err = s.jobs.Wait(ctx, connect.NewRequest(request))
			return err
		})
		if err != nil {
			return nil, err
		}
		if response.Msg.GetDone() {
			return toJobs(response.Msg.GetJobs())
		}
	}
}

// Logs gives a job's output to each as it comes. With follow it goes on until the job is
// over; a change of leader in between loses and repeats nothing.
func (c *Client) Logs(ctx context.Context, ref core.JobRef, which wire.OutputStream, follow bool, each func(wire.OutputStream, []byte) error) error {
	request := &wire.LogsRequest{Ref: wire.FromJobRef(ref), Follow: follow, Stream: which}
	var refused error // by each: nothing to try again
	for {
		before := request.GetStdoutOffset() + request.GetStderrOffset()
		err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
			stream, err := s.jobs.Logs(ctx, connect.NewRequest(request))
			if err != nil {
				return err
			}
			defer stream.Close()
			for stream.Receive() {
				chunk := stream.Msg()
				if refused = each(chunk.GetStream(), chunk.GetData()); refused != nil {
					return nil
				}
				next := chunk.GetOffset() + uint64(len(chunk.GetData()))
				if chunk.GetStream() == wire.OutputStream_OUTPUT_STREAM_STDERR {
					request.StderrOffset = next
				} else {
					request.StdoutOffset = next
				}
			}
			return stream.Err()
		})
		progressed := request.GetStdoutOffset()+request.GetStderrOffset() > before
		if refused != nil {
			return refused
		}
		if err != nil && progressed && core.KindOf(err) == core.Unavailable && ctx.Err() == nil {
			continue
		}
		return err
	}
}

// HistoryFilter narrows job history. The zero value asks for the newest 1,000.
type HistoryFilter struct {
	IDs    []core.JobID
	Users  []string
	States []core.JobState
	Since  time.Time // ended, or still running, at or after
	Until  time.Time // started before
	Limit  int
	Stale  bool
}

// History returns jobs, newest first, live ones included, and whether the limit cut
// some off.
func (c *Client) History(ctx context.Context, f HistoryFilter) (jobs []*core.Job, truncated bool, err error) {
	request := &wire.HistoryRequest{
		Ids: ids(f.IDs), Users: f.Users, States: states(f.States), Stale: f.Stale,
		Since: timestamp(f.Since), Until: timestamp(f.Until), Limit: uint32(max(f.Limit, 0)),
	}
	err = c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.jobs.History(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		truncated = response.Msg.GetTruncated()
		jobs, err = toJobs(response.Msg.GetJobs())
		return err
	})
	return jobs, truncated, err
}

// Nodes lists nodes by name.
func (c *Client) Nodes(ctx context.Context, stale bool) ([]*core.Node, error) {
	var nodes []*core.Node
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.nodes.List(ctx, connect.NewRequest(&wire.ListNodesRequest{Stale: stale}))
		if err != nil {
			return err
		}
		nodes, err = toNodes(response.Msg.GetNodes())
		return err
	})
	return nodes, err
}

// NodeDetail is one node with the jobs on it.
type NodeDetail struct {
	Node        *core.Node
	Jobs        []*core.Job
	LoadAverage float64
	HeardAt     time.Time // zero: not since the leader started
}

// Node returns one node.
func (c *Client) Node(ctx context.Context, name string, stale bool) (*NodeDetail, error) {
	var detail *NodeDetail
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.nodes.Get(ctx, connect.NewRequest(&wire.GetNodeRequest{Name: name, Stale: stale}))
		if err != nil {
			return err
		}
		nodes, err := toNodes([]*wire.Node{response.Msg.GetNode()})
		if err != nil {
			return err
		}
		jobs, err := toJobs(response.Msg.GetJobs())
		if err != nil {
			return err
		}
		detail = &NodeDetail{Node: nodes[0], Jobs: jobs, LoadAverage: response.Msg.GetLoadAverage()}
		if at := response.Msg.GetHeardAt(); at != nil {
			detail.HeardAt = at.AsTime()
		}
		return nil
	})
	return detail, err
}

// Drain takes nodes out of service for new jobs.
func (c *Client) Drain(ctx context.Context, names []string, reason string) error {
	return c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		_, err := s.nodes.Drain(ctx, connect.NewRequest(&wire.DrainRequest{Names: names, Reason: reason}))
		return err
	})
}

// Resume puts drained nodes back into service.
func (c *Client) Resume(ctx context.Context, names []string) error {
	return c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		_, err := s.nodes.Resume(ctx, connect.NewRequest(&wire.ResumeRequest{Names: names}))
		return err
	})
}

// Status returns what the first controller that answers says of itself and the cluster.
func (c *Client) Status(ctx context.Context) (*wire.StatusResponse, error) {
	var status *wire.StatusResponse
	err := c.call(ctx, true, func(ctx context.Context, s *stubs) error {
		response, err := s.cluster.Status(ctx, connect.NewRequest(&wire.StatusRequest{}))
		if err == nil {
			status = response.Msg
		}
		return err
	})
	return status, err
}

func ids(from []core.JobID) []uint64 {
	to := make([]uint64, len(from))
	for i, id := range from {
		to[i] = uint64(id)
	}
	return to
}

func states(from []core.JobState) []wire.JobState {
	to := make([]wire.JobState, len(from))
	for i, s := range from {
		to[i] = wire.JobState(s)
	}
	return to
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
