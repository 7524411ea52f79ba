package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/dispatch"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a Dispatch over a real state store whose log is the test itself.
type room struct {
	*dispatch.Dispatch
	t     testing.TB
	store *state.Store
	heart heart
	stop  func() // ends the leadership and waits for Run

	mu      sync.Mutex
	held    chan struct{}               // guarded by mu; ReportJobs wait for it to close; nil: they do not
	refuse  func(core.ReportJobs) error // guarded by mu; nil: refuses nothing
	batches []core.ReportJobs           // guarded by mu; all that were proposed
	shown   *state.View                 // guarded by mu; nil: the store's
}

// inRoom runs a test in a bubble of virtual time with a leader's room in it.
func inRoom(t *testing.T, test func(t *testing.T, r *room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		defer func() { r.stop() }() // that of the last leadership
		synctest.Wait()
		test(t, r)
	})
}

func newRoom(t testing.TB) *room {
	r := &room{t: t, store: state.New(), heart: heart{loads: make(map[string]float64)}}
	r.Dispatch = dispatch.New(dispatch.Config{Leader: "ctl-1"}, r.View, r, &r.heart, hclog.NewNullLogger())
	r.lead()
	return r
}

// lead starts a leadership.
func (r *room) lead() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				r.t.Errorf("Run: %v", err)
			}
		})
	}
}

// View returns what the dispatcher sees.
func (r *room) View() *state.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown != nil {
		return r.shown
	}
	return r.store.View()
}

// Propose applies a command as the next entry of the log.
func (r *room) Propose(ctx context.Context, command core.Command) (core.Result, error) {
	if reports, ok := command.(core.ReportJobs); ok {
		r.mu.Lock()
		r.batches = append(r.batches, reports)
		held, refuse := r.held, r.refuse
		r.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if refuse != nil {
			if err := refuse(reports); err != nil {
				return nil, err
			}
		}
	}
	data, err := wire.EncodeCommand(command)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	index := r.store.View().Index() + 1
	results, err := r.store.Apply(index, time.Unix(1_800_000_000+int64(index), 0), [][]byte{data})
	if err != nil {
		return nil, err
	}
	if err, refused := results[0].(error); refused {
		return nil, err
	}
	return results[0], nil
}

func (r *room) apply(command core.Command) core.Result {
	r.t.Helper()
	result, err := r.Propose(context.Background(), command)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// hold makes ReportJobs wait until the returned function is called.
func (r *room) hold() (release func()) {
	held := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(held)
		r.held = nil
	}
}

func (r *room) refuseReports(refuse func(core.ReportJobs) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// proposed returns the sizes of the ReportJobs so far.
func (r *room) proposed() (sizes []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, batch := range r.batches {
		sizes = append(sizes, len(batch.Reports))
	}
	return sizes
}

// submit queues one job for some nodes.
func (r *room) submit(nodes int) core.JobID {
	r.t.Helper()
	spec := core.JobSpec{
		Name: "j", User: "ada", Partition: core.DefaultPartition, WorkDir: "/home/ada", Output: "slurm-%j.out",
		Nodes: uint32(nodes), Tasks: uint32(nodes), CPUsPerTask: 1,
	}
	submission := core.Submission{Spec: spec, Payload: core.Payload{Argv: []string{"/bin/true"}}}
	key := fmt.Sprint("key-", r.store.View().Index())
	return r.apply(core.SubmitJobs{RequestKey: key, Jobs: []core.Submission{submission}}).(core.Submitted).Jobs[0]
}

// start queues a job and gives it its nodes.
func (r *room) start(nodes ...string) core.JobID {
	r.t.Helper()
	id := r.submit(len(nodes))
	plan := core.Plan{Policy: "test@1", Starts: []core.Start{{Job: id, Nodes: nodes}}}
	if planned := r.apply(core.ApplyPlan{Plan: plan}).(core.Planned); len(planned.Refused) > 0 {
		r.t.Fatalf("job %d does not start: %v", id, planned.Refused)
	}
	return id
}

func (r *room) cancel(id core.JobID) {
	r.t.Helper()
	r.apply(core.CancelJobs{Refs: []core.JobRef{{ID: id}}, By: "ada"})
}

func (r *room) job(id core.JobID) *core.Job { return r.store.View().Job(id) }

// node registers a node that no agent speaks for yet.
func (r *room) node(name string) {
	r.t.Helper()
	r.apply(registration(name, "nobody"))
}

func registration(name, agent string) core.RegisterNode {
	return core.RegisterNode{Name: name, Agent: agent, Capacity: core.Resources{CPUs: 1 << 16, MemoryMiB: 1 << 20}}
}

// heart remembers what it was told.
type heart struct {
	mu    sync.Mutex
	loads map[string]float64
}

func (h *heart) Heard(node, _ string, load float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loads[node] = load
}

func (h *heart) load(node string) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loads[node]
}

// stream is an agent's stream in memory. Nothing is buffered: what is sent has been read.
type stream struct {
	up     chan *wire.AgentMessage
	down   chan *wire.ControllerMessage
	once   sync.Once
	closed chan struct{}
}

func newStream() *stream {
	return &stream{
		up:     make(chan *wire.AgentMessage),
		down:   make(chan *wire.ControllerMessage),
		closed: make(chan struct{}),
	}
}

func (s *stream) Receive() (*wire.AgentMessage, error) {
	select {
	case message := <-s.up:
		return message, nil
	case <-s.closed:
		return nil, io.EOF
	}
}

func (s *stream) Send(message *wire.ControllerMessage) error {
	select {
	case s.down <- message:
		return nil
	case <-s.closed:
		return errors.New("stream closed")
	}
}

func (s *stream) Abort() { s.once.Do(func() { close(s.closed) }) }

// agent is a scripted agent. Tests read what it is told with next and nothing.
type agent struct {
	*stream
	t     testing.TB
	node  string
	ended chan error // what Serve returned
}

// dial opens a stream and says hello, and does not wait for an answer.
func (r *room) dial(node, incarnation string, running ...*wire.RunningJob) *agent {
	a := &agent{stream: newStream(), t: r.t, node: node, ended: make(chan error, 1)}
	go func() {
		err := r.Serve(context.Background(), "192.0.2.7:40000", a.stream)
		a.Abort() // as an HTTP server does to a stream whose handler has returned
		a.ended <- err
		close(a.ended)
	}()
	a.say(&wire.AgentMessage{Kind: &wire.AgentMessage_Hello{Hello: &wire.AgentHello{
		Node: wire.FromRegisterNode(registration(node, incarnation)), Running: running,
	}}})
	return a
}

// connect is dial for an agent that gets in.
func (r *room) connect(node, incarnation string, running ...*wire.RunningJob) *agent {
	r.t.Helper()
	a := r.dial(node, incarnation, running...)
	if welcome := a.next().GetWelcome(); welcome.GetLeader() != "ctl-1" || welcome.GetHeartbeatSeconds() != 5 {
		r.t.Fatalf("node %s was welcomed with %v", node, welcome)
	}
	return a
}

// say sends a message, unless the stream is closed.
func (a *agent) say(message *wire.AgentMessage) {
	select {
	case a.up <- message:
	case <-a.closed:
	}
}

func (a *agent) heartbeat(load float64) {
	a.say(&wire.AgentMessage{Kind: &wire.AgentMessage_Heartbeat{Heartbeat: &wire.Heartbeat{LoadAverage: load}}})
}

// report reports the end of the first attempt of jobs.
func (a *agent) report(as core.JobState, ids ...core.JobID) {
	reports := &wire.JobReports{}
	for _, id := range ids {
		reports.Reports = append(reports.Reports, wire.FromReport(core.JobReport{Job: id, Attempt: 1, State: as}))
	}
	a.say(&wire.AgentMessage{Kind: &wire.AgentMessage_Reports{Reports: reports}})
}

// next returns the next message to the agent.
func (a *agent) next() *wire.ControllerMessage {
	a.t.Helper()
	select {
	case message := <-a.down:
		return message
	case <-a.closed:
		a.t.Fatalf("the session of node %s ended: %v", a.node, <-a.ended)
	case <-time.After(time.Minute):
		a.t.Fatalf("node %s was told nothing for a minute", a.node)
	}
	return nil
}

// nothing checks that no message waits for the agent; it needs a bubble.
func (a *agent) nothing() {
	a.t.Helper()
	synctest.Wait()
	select {
	case message := <-a.down:
		a.t.Fatalf("node %s was told %v", a.node, message)
	default:
	}
}

// launched returns the job that the agent is told to run next.
func (a *agent) launched() core.JobID {
	a.t.Helper()
	message := a.next()
	if message.GetLaunch() == nil {
		a.t.Fatalf("node %s was told %v, not to launch", a.node, message)
	}
	return core.JobID(message.GetLaunch().GetJob().GetId())
}

// terminated returns the job that the agent is told to end next.
func (a *agent) terminated() core.JobID {
	a.t.Helper()
	message := a.next()
	if message.GetTerminate() == nil {
		a.t.Fatalf("node %s was told %v, not to terminate", a.node, message)
	}
	return core.JobID(message.GetTerminate().GetJob())
}

// acked returns the jobs of the next acknowledgement.
func (a *agent) acked() (ids []core.JobID) {
	a.t.Helper()
	message := a.next()
	if message.GetAck() == nil {
		a.t.Fatalf("node %s was told %v, no acknowledgement", a.node, message)
	}
	for _, job := range message.GetAck().GetJobs() {
		ids = append(ids, core.JobID(job.GetJob()))
	}
	return ids
}

// hangUp closes the stream from the agent's side and waits for its session's end.
func (a *agent) hangUp() error {
	a.Abort()
	return <-a.ended
}

func running(ids ...core.JobID) (list []*wire.RunningJob) {
	for _, id := range ids {
		list = append(list, &wire.RunningJob{Job: uint64(id), Attempt: 1})
	}
	return list
}
