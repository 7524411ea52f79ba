package api

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/dispatch"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// replica is a server over a real state, without a log behind it: what is proposed is
// applied at once. Two replicas can share a state, one leading.
type replica struct {
	t       *testing.T
	server  *Server
	store   *state.Store
	apply   *sync.Mutex
	leads   atomic.Bool
	leader  atomic.Pointer[Leader] // who leads if this one does not; follows sets it
	agents  fakeAgents
	full    error         // why no job is taken in
	hangs   chan struct{} // proposals wait for it, if it is set
	past    []*core.Job
	address string // TCP
	socket  string
}

func newReplica(t *testing.T, name string, store *state.Store, apply *sync.Mutex, insecure bool) *replica {
	t.Helper()
	r := &replica{t: t, store: store, apply: apply, socket: filepath.Join(t.TempDir(), "s")}
	r.leads.Store(true)
	r.server = NewServer(Config{
		Name: name, Insecure: insecure, MaxScriptBytes: 1 << 20,
		Replica: r, View: store.View, Agents: &r.agents,
		Leader: func() Leader {
			if r.leads.Load() {
				return Leader{Self: true, Name: name}
			}
			if leader := r.leader.Load(); leader != nil {
				return *leader
			}
			return Leader{Changed: never}
		},
		History: func(f history.Filter) (found []*core.Job, _ bool, _ error) {
			for _, job := range r.past {
				if f.Takes(job) {
					found = append(found, job)
				}
			}
			return found, false, nil
		},
		Heard:  func(string) (time.Time, float64, bool) { return time.Time{}, 0, false },
		Status: func() *wire.StatusResponse { return &wire.StatusResponse{Name: name} },
		Admit:  func() error { return r.full },
		Refuse: func() error { return nil },
		Logger: hclog.NewNullLogger(),
	})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	r.address = tcp.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(ctx, tcp, unix) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

var never = make(chan struct{})

// follows makes the replica a follower of another one, and returns what ends that.
func (r *replica) follows(name, address string) (ends func(next Leader)) {
	changed := make(chan struct{})
	r.leads.Store(false)
	r.leader.Store(&Leader{Name: name, APIAddress: address, Changed: changed})
	return func(next Leader) {
		r.leader.Store(&next)
		close(changed)
	}
}

// alone returns a leading replica with a state of its own.
func alone(t *testing.T, insecure bool) *replica {
	return newReplica(t, "ctl-1", state.New(), &sync.Mutex{}, insecure)
}

func (r *replica) Propose(_ context.Context, command core.Command) (core.Result, error) {
	if r.hangs != nil {
		<-r.hangs
	}
	if !r.leads.Load() {
		return nil, core.Errorf(core.NotLeader, "not the leader")
	}
	data, err := wire.EncodeCommand(command)
	if err != nil {
		return nil, err
	}
	r.apply.Lock()
	defer r.apply.Unlock()
	results, err := r.store.Apply(r.store.View().Index()+1, time.Now(), [][]byte{data})
	if err != nil {
		return nil, err
	}
	if refused, ok := results[0].(error); ok {
		return nil, refused
	}
	return results[0], nil
}

func (r *replica) Barrier(context.Context) error {
	if !r.leads.Load() {
		return core.Errorf(core.NotLeader, "not the leader")
	}
	return nil
}

func (r *replica) must(command core.Command) core.Result {
	r.t.Helper()
	result, err := r.Propose(context.Background(), command)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// start gives a job its node, as the scheduler would.
func (r *replica) start(id core.JobID) {
	r.t.Helper()
	r.must(core.RegisterNode{Name: "n1", Capacity: core.Resources{CPUs: 8, MemoryMiB: 1024}, Agent: "a"})
	planned := r.must(core.ApplyPlan{Plan: core.Plan{Policy: "test@1", Starts: []core.Start{{Job: id, Nodes: []string{"n1"}}}}}).(core.Planned)
	if len(planned.Started) != 1 {
		r.t.Fatalf("job %d did not start: %v", id, planned.Refused)
	}
}

func (r *replica) end(id core.JobID, code int32) {
	r.t.Helper()
	r.must(core.ReportJobs{Reports: []core.JobReport{{Job: id, Attempt: 1, State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: code}}})
}

func (r *replica) client(addresses ...string) *Client {
	r.t.Helper()
	client, err := NewClient(addresses, 2*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(client.Close)
	return client
}

func (r *replica) local() *Client { return r.client("unix:" + r.socket) }

// fakeAgents has the output of every job: its streams' names.
type fakeAgents struct{ stdout, stderr string }

func (a *fakeAgents) Serve(context.Context, string, dispatch.Stream) error {
	return core.Errorf(core.Conflict, "no agents here")
}

func (a *fakeAgents) ReadOutput(_ context.Context, _ *core.Job, which wire.OutputStream, offset uint64, _ bool, each func(*wire.OutputChunk) error) error {
	text := a.stdout
	if which == wire.OutputStream_OUTPUT_STREAM_STDERR {
		text = a.stderr
	}
	for at := offset; at < uint64(len(text)); at++ {
		if err := each(&wire.OutputChunk{Data: []byte{text[at]}, Offset: at}); err != nil {
			return err
		}
	}
	return nil
}

func sleepJob(uid uint32) core.Submission {
	return core.Submission{
		Spec: core.JobSpec{
			Name: "sleep", User: "alice", UID: uid, Partition: core.DefaultPartition,
			Nodes: 1, Tasks: 1, CPUsPerTask: 1, WorkDir: "/tmp",
		},
		Payload: core.Payload{Argv: []string{"sleep", "1"}},
	}
}
