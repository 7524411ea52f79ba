package history_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when the clusters of these tests begin; entry n is applied n seconds later.
var epoch = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// cluster is a state machine that is fed without Raft.
type cluster struct {
	*state.Store
	t testing.TB
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{Store: state.New(), t: t}
	c.apply(core.RegisterNode{Name: "n1", Agent: "a1", Capacity: core.Resources{CPUs: 1 << 20, MemoryMiB: 1 << 30}})
	return c
}

func at(index uint64) time.Time { return epoch.Add(time.Duration(index) * time.Second) }

// apply applies commands as one entry and returns the result of the last.
func (c *cluster) apply(commands ...core.Command) core.Result {
	c.t.Helper()
	var encoded [][]byte
	for _, command := range commands {
		data, err := wire.EncodeCommand(command)
		if err != nil {
			c.t.Fatal(err)
		}
		encoded = append(encoded, data)
	}
	index := c.View().Index() + 1
	results, err := c.Apply(index, at(index), encoded)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, result := range results {
		if err, ok := result.(error); ok {
			c.t.Fatal(err)
		}
	}
	return results[len(results)-1]
}

// submit queues one job of a user, with an array if indices are given.
func (c *cluster) submit(user, array string) core.JobID {
	c.t.Helper()
	spec := core.JobSpec{Name: "j", User: user, Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1}
	if array != "" {
		parsed, err := core.ParseArray(array)
		if err != nil {
			c.t.Fatal(err)
		}
		spec.Array = parsed
	}
	key := fmt.Sprintf("key-%d", c.View().Index())
	submission := core.Submission{Spec: spec, Payload: core.Payload{Argv: []string{"/bin/true"}}}
	return c.apply(core.SubmitJobs{RequestKey: key, Jobs: []core.Submission{submission}}).(core.Submitted).Jobs[0]
}

// start starts a record and returns the one that runs.
func (c *cluster) start(id core.JobID) core.JobID {
	c.t.Helper()
	plan := core.Plan{Policy: "test@1", Starts: []core.Start{{Job: id, Nodes: []string{"n1"}}}}
	planned := c.apply(core.ApplyPlan{Plan: plan}).(core.Planned)
	if len(planned.Started) != 1 {
		c.t.Fatalf("job %d did not start: %v", id, planned.Refused)
	}
	return planned.Started[0]
}

func (c *cluster) end(id core.JobID, as core.JobState) {
	c.t.Helper()
	report := core.JobReport{Job: id, Attempt: c.View().Job(id).Attempt, State: as}
	c.apply(core.ReportJobs{Reports: []core.JobReport{report}})
}

// run takes one job of a user from submission to its end.
func (c *cluster) run(user string, as core.JobState) core.JobID {
	c.t.Helper()
	id := c.start(c.submit(user, ""))
	c.end(id, as)
	return id
}

// forget drops all that is over from the state.
func (c *cluster) forget() {
	c.t.Helper()
	c.apply(core.Forget{EndedBefore: at(1 << 20), HistoryIndex: c.View().Index()})
}

func open(t testing.TB, path string) *history.History {
	t.Helper()
	h, err := history.Open(path, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func openNew(t testing.TB) *history.History {
	h := open(t, filepath.Join(t.TempDir(), history.FileName))
	t.Cleanup(func() { closeFile(t, h) })
	return h
}

func closeFile(t testing.TB, h *history.History) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// follow runs the history until the returned function is called, which waits for it.
func follow(t testing.TB, h *history.History, view func() *state.View) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, view) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// followTo runs the history until it has all that the cluster has now.
func followTo(t testing.TB, h *history.History, c *cluster) {
	t.Helper()
	stop := follow(t, h, c.View)
	defer stop()
	waitFor(t, h, c.View().Index())
}

// waitFor waits until the history's index is the given one.
func waitFor(t testing.TB, h *history.History, index uint64) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for h.Index() != index {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("history is at index %d, want %d", h.Index(), index)
		}
	}
}

func query(t testing.TB, h *history.History, filter history.Filter) []*core.Job {
	t.Helper()
	jobs, _, err := h.Query(filter)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func ids(jobs []*core.Job) []core.JobID {
	var list []core.JobID
	for _, job := range jobs {
		list = append(list, job.ID)
	}
	return list
}
