package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
	"github.com/rowelhq/rowel/core/wire/wireconnect"
)

// fakeAPI answers as a controller would, with what a test put there, and remembers what
// it was asked.
type fakeAPI struct {
	address string

	mu        sync.Mutex // guards all below
	jobs      []*core.Job
	payload   *core.Payload
	nodes     []*core.Node
	status    *wire.StatusResponse
	output    []*wire.LogsResponse
	truncated bool
	refuse    error         // by every call, if set
	ended     chan struct{} // closed: the jobs are over
	shown     chan struct{} // closed at the first call for output

	loseOutput bool // the output of every job is gone

	submitted []*wire.Submission
	listed    *wire.ListJobsRequest
	asked     *wire.HistoryRequest
	cancelled []string
	unknown   string // the job that cannot be cancelled
	drained   *wire.DrainRequest
	resumed   *wire.ResumeRequest
	onCancel  func()
}

func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{ended: make(chan struct{}), shown: make(chan struct{})}
	close(f.ended)
	mux := http.NewServeMux()
	mux.Handle(wireconnect.NewJobServiceHandler(fakeJobs{fakeAPI: f}))
	mux.Handle(wireconnect.NewNodeServiceHandler(fakeNodes{f}))
	mux.Handle(wireconnect.NewClusterServiceHandler(fakeCluster{f}))
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	f.address = strings.TrimPrefix(server.URL, "http://")
	return f
}

// run runs the program against this controller.
func (f *fakeAPI) run(t *testing.T, words ...string) result {
	t.Helper()
	return rowel(t, append([]string{"--address", f.address}, words...)...)
}

func (f *fakeAPI) lock() func() {
	f.mu.Lock()
	return f.mu.Unlock
}

type fakeJobs struct {
	wireconnect.UnimplementedJobServiceHandler
	*fakeAPI
}

func (f fakeJobs) Submit(_ context.Context, r *connect.Request[wire.SubmitRequest]) (*connect.Response[wire.SubmitResponse], error) {
	defer f.lock()()
	f.submitted = append(f.submitted, r.Msg.GetJobs()...)
	return connect.NewResponse(&wire.SubmitResponse{Ids: []uint64{7}}), f.refuse
}

func (f fakeJobs) List(_ context.Context, r *connect.Request[wire.ListJobsRequest]) (*connect.Response[wire.ListJobsResponse], error) {
	defer f.lock()()
	f.listed = r.Msg
	return connect.NewResponse(&wire.ListJobsResponse{Jobs: f.wireJobs()}), f.refuse
}

func (f fakeJobs) Get(context.Context, *connect.Request[wire.GetJobRequest]) (*connect.Response[wire.GetJobResponse], error) {
	defer f.lock()()
	response := &wire.GetJobResponse{Jobs: f.wireJobs()}
	if f.payload != nil {
		response.Payload = wire.FromPayload(f.payload)
	}
	return connect.NewResponse(response), f.refuse
}

func (f fakeJobs) Cancel(_ context.Context, r *connect.Request[wire.CancelRequest]) (*connect.Response[wire.CancelResponse], error) {
	defer f.lock()()
	response := &wire.CancelResponse{}
	for _, m := range r.Msg.GetRefs() {
		job := refText(wire.ToJobRef(m))
		f.cancelled = append(f.cancelled, job)
		outcome := &wire.CancelOutcome{}
		if job == f.unknown {
			outcome.Error = "there is no job " + job
		}
		response.Outcomes = append(response.Outcomes, outcome)
	}
	if f.onCancel != nil {
		f.onCancel()
	}
	return connect.NewResponse(response), f.refuse
}

// Wait answers once the channel ended is closed.
func (f fakeJobs) Wait(ctx context.Context, _ *connect.Request[wire.WaitRequest]) (*connect.Response[wire.WaitResponse], error) {
	if err := f.untilEnded(ctx); err != nil {
		return nil, err
	}
	defer f.lock()()
	return connect.NewResponse(&wire.WaitResponse{Done: true, Jobs: f.wireJobs()}), f.refuse
}

// Logs sends what there is and, if asked to follow, ends with the channel ended.
func (f fakeJobs) Logs(ctx context.Context, r *connect.Request[wire.LogsRequest], stream *connect.ServerStream[wire.LogsResponse]) error {
	unlock := f.lock()
	output, refuse := f.output, f.refuse
	if f.loseOutput {
		refuse = connect.NewError(connect.CodeNotFound, errSaid)
	}
	select {
	case <-f.shown:
	default:
		close(f.shown)
	}
	unlock()
	for _, chunk := range output {
		if only := r.Msg.GetStream(); only != wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED && only != chunk.GetStream() {
			continue
		}
		if err := stream.Send(chunk); err != nil {
			return err
		}
	}
	if r.Msg.GetFollow() && refuse == nil {
		return f.untilEnded(ctx)
	}
	return refuse
}

func (f *fakeAPI) untilEnded(ctx context.Context) error {
	select {
	case <-f.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f fakeJobs) History(_ context.Context, r *connect.Request[wire.HistoryRequest]) (*connect.Response[wire.HistoryResponse], error) {
	defer f.lock()()
	f.asked = r.Msg
	return connect.NewResponse(&wire.HistoryResponse{Jobs: f.wireJobs(), Truncated: f.truncated}), f.refuse
}

func (f *fakeAPI) wireJobs() []*wire.Job {
	var jobs []*wire.Job
	for _, j := range f.jobs {
		jobs = append(jobs, wire.FromJob(j))
	}
	return jobs
}

type fakeNodes struct{ *fakeAPI }

func (f fakeNodes) List(context.Context, *connect.Request[wire.ListNodesRequest]) (*connect.Response[wire.ListNodesResponse], error) {
	defer f.lock()()
	response := &wire.ListNodesResponse{}
	for _, n := range f.nodes {
		response.Nodes = append(response.Nodes, wire.FromNode(n))
	}
	return connect.NewResponse(response), f.refuse
}

func (f fakeNodes) Get(context.Context, *connect.Request[wire.GetNodeRequest]) (*connect.Response[wire.GetNodeResponse], error) {
	defer f.lock()()
	return connect.NewResponse(&wire.GetNodeResponse{
		Node: wire.FromNode(f.nodes[0]), Jobs: f.wireJobs(), LoadAverage: 1.5, HeardAt: timestamppb.New(testNow),
	}), f.refuse
}

func (f fakeNodes) Drain(_ context.Context, r *connect.Request[wire.DrainRequest]) (*connect.Response[wire.DrainResponse], error) {
	defer f.lock()()
	f.drained = r.Msg
	return connect.NewResponse(&wire.DrainResponse{}), f.refuse
}

func (f fakeNodes) Resume(_ context.Context, r *connect.Request[wire.ResumeRequest]) (*connect.Response[wire.ResumeResponse], error) {
	defer f.lock()()
	f.resumed = r.Msg
	return connect.NewResponse(&wire.ResumeResponse{}), f.refuse
}

type fakeCluster struct{ *fakeAPI }

func (f fakeCluster) Status(context.Context, *connect.Request[wire.StatusRequest]) (*connect.Response[wire.StatusResponse], error) {
	defer f.lock()()
	return connect.NewResponse(f.status), f.refuse
}

// The cluster that the tests of tables and of JSON look at.

func runningJob() *core.Job {
	return &core.Job{
		ID: 7, Spec: &core.JobSpec{
			Name: "train", User: "alice", UID: 1000, GID: 100, Partition: "main", Comment: "fold 1",
			Nodes: 2, Tasks: 4, CPUsPerTask: 2, MemoryMiB: 2048, TimeLimit: 90 * time.Minute,
			WorkDir: "/home/alice", Output: "slurm-%j.out",
		},
		State: core.JobRunning, Priority: core.BasePriority, Attempt: 1,
		Placements: []core.Placement{
			{Node: "n1", Resources: core.Resources{CPUs: 4, MemoryMiB: 2048}},
			{Node: "n2", Resources: core.Resources{CPUs: 4, MemoryMiB: 2048}},
		},
		Policy: "backfill@1.0.0", Cycle: 42,
		SubmittedAt: testNow.Add(-2 * time.Hour), StartedAt: testNow.Add(-time.Hour - 5*time.Second),
	}
}

func pendingArray() *core.Job {
	array, err := core.ParseArray("4-7%2")
	if err != nil {
		panic(err)
	}
	return &core.Job{
		ID: 12, Spec: &core.JobSpec{
			Name: "sweep", User: "bob", UID: 1001, GID: 100, Partition: "main", Nodes: 1, Tasks: 1, CPUsPerTask: 64, Nice: 100,
			WorkDir: "/home/bob", Output: "slurm-%A_%a.out", Array: array,
		},
		State: core.JobPending, Reason: core.ReasonResources, Message: "64 CPUs are not free on one node", Priority: core.BasePriority - 100,
		ArrayID: 12, ArrayPending: array.Indices, SubmittedAt: testNow.Add(-time.Minute),
	}
}

func failedElement() *core.Job {
	return &core.Job{
		ID: 13, Spec: pendingArray().Spec, State: core.JobFailed, Reason: core.ReasonRaisedSignal, Priority: core.BasePriority - 100, Attempt: 1,
		ArrayID: 12, ArrayIndex: 3, Signal: 9,
		Placements: []core.Placement{{Node: "n1", Resources: core.Resources{CPUs: 64}}}, Policy: "backfill@1.0.0", Cycle: 41,
		SubmittedAt: testNow.Add(-time.Minute), StartedAt: testNow.Add(-50 * time.Second), EndedAt: testNow.Add(-8 * time.Second),
	}
}

func endedJob(state core.JobState, exitCode, signal int32) *core.Job {
	j := runningJob()
	j.State, j.ExitCode, j.Signal, j.EndedAt = state, exitCode, signal, testNow
	return j
}

func mixedNode() *core.Node {
	return &core.Node{
		Name: "n1", Address: "10.0.0.1", Labels: map[string]string{"rack": "r1", "disk": "nvme"},
		Capacity: core.Resources{CPUs: 64, MemoryMiB: 262144}, Allocated: core.Resources{CPUs: 4, MemoryMiB: 2048}, Jobs: 1,
		Agent: "a1", Version: "v1.0.0", OS: "linux 6.18.0 amd64", RegisteredAt: testNow.Add(-day), ChangedAt: testNow.Add(-day),
	}
}

func drainedNode() *core.Node {
	return &core.Node{
		Name: "n2", Address: "10.0.0.2", Capacity: core.Resources{CPUs: 64, MemoryMiB: 262144}, Agent: "a2", Version: "v1.0.0",
		Drain: true, DrainReason: "replacing the fan", DrainedBy: "root", RegisteredAt: testNow.Add(-day), ChangedAt: testNow.Add(-time.Hour),
	}
}

func leaderStatus() *wire.StatusResponse {
	return &wire.StatusResponse{
		Cluster: "prod", ClusterId: "c0ffee", Name: "ctl-1", Version: "v1.0.0", Live: "ok", Ready: "ok", Role: "leader",
		Term: 3, LastIndex: 120, CommitIndex: 120, AppliedIndex: 119, SnapshotIndex: 100, Leader: "ctl-1",
		Members: []*wire.MemberStatus{
			{ServerId: "ctl-1#aaaa", Name: "ctl-1", RaftAddress: "10.0.0.1:6821", ApiAddress: "10.0.0.1:6817", Voter: true, Leader: true},
			{ServerId: "ctl-2#bbbb", Name: "ctl-2", RaftAddress: "10.0.0.2:6821", ApiAddress: "10.0.0.2:6817", Voter: true},
			{ServerId: "ctl-3#cccc", Name: "ctl-3", RaftAddress: "10.0.0.3:6821"},
		},
		Jobs:  map[string]uint32{"COMPLETED": 5, "PENDING": 2, "RUNNING": 1},
		Nodes: map[string]uint32{"IDLE": 1, "DOWN": 1},
		Policy: &wire.PolicyStatus{
			Name: "backfill", Version: "1.0.0", Sha256: "0123456789abcdef0123456789abcdef", Cycles: 42, Fallbacks: 1, Strikes: 1,
			LastFault: "missed its deadline of 5s", LastCycleSeconds: 0.00123,
		},
		Warnings:  []string{"insecure = true: nothing is encrypted"},
		StartedAt: timestamppb.New(testNow.Add(-day)),
	}
}
