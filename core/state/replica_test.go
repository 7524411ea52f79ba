package state

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// start is when every test begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// equalSets lets cmp look into index sets.
var equalSets = cmp.AllowUnexported(core.IndexSet{})

// replica drives a store as Raft does: an entry a second.
type replica struct {
	*Store
	t     testing.TB
	index uint64
	now   time.Time
	keys  int
}

func newReplica(t testing.TB) *replica {
	return &replica{Store: New(), t: t, now: start}
}

// apply applies one entry and returns its results.
func (r *replica) apply(commands ...core.Command) []core.Result {
	r.t.Helper()
	r.index++
	r.now = r.now.Add(time.Second)
	results, err := r.Apply(r.index, r.now, encode(r.t, commands...))
	if err != nil {
		r.t.Fatal(err)
	}
	return results
}

func encode(t testing.TB, commands ...core.Command) [][]byte {
	t.Helper()
	var entry [][]byte
	for _, command := range commands {
		data, err := wire.EncodeCommand(command)
		if err != nil {
			t.Fatal(err)
		}
		entry = append(entry, data)
	}
	return entry
}

// one applies one command that must be accepted, and returns its result.
func one[R any](r *replica, command core.Command) R {
	r.t.Helper()
	result := r.apply(command)[0]
	answer, ok := result.(R)
	if !ok {
		r.t.Fatalf("%T gave %v", command, result)
	}
	return answer
}

// refused applies one command that must be refused with a kind.
func (r *replica) refused(kind core.Kind, command core.Command) error {
	r.t.Helper()
	before := snapshotRecords(r.t, r.Store)
	err, ok := r.apply(command)[0].(error)
	if !ok || core.KindOf(err) != kind {
		r.t.Fatalf("%T gave %v, want an error of kind %v", command, err, kind)
	}
	if diff := cmp.Diff(before, snapshotRecords(r.t, r.Store)); diff != "" {
		r.t.Fatalf("refused %T changed the state:\n%s", command, diff)
	}
	return err
}

// accepted applies a command whose result is nil.
func (r *replica) accepted(command core.Command) {
	r.t.Helper()
	if got := r.apply(command)[0]; got != nil {
		r.t.Fatalf("%T gave %v", command, got)
	}
}

// addNode registers a node of a size.
func (r *replica) addNode(name string, cpus uint32, memoryMiB uint64) {
	r.t.Helper()
	r.accepted(core.RegisterNode{Name: name, Agent: "agent-" + name, Capacity: core.Resources{CPUs: cpus, MemoryMiB: memoryMiB}})
}

// submit queues jobs under a new request key.
func (r *replica) submit(specs ...core.JobSpec) []core.JobID {
	r.t.Helper()
	r.keys++
	return one[core.Submitted](r, submission(fmt.Sprint("key-", r.keys), specs...)).Jobs
}

// run submits a job of one CPU and starts it on a node.
func (r *replica) run(node string) core.JobID {
	r.t.Helper()
	id := r.submit(job())[0]
	r.mustStart(id, node)
	return id
}

// plan applies a plan of starts.
func (r *replica) plan(starts ...core.Start) core.Planned {
	r.t.Helper()
	return one[core.Planned](r, core.ApplyPlan{Plan: core.Plan{Policy: "test@1", Cycle: 7, Starts: starts}})
}

// mustStart starts a record and returns the one that runs.
func (r *replica) mustStart(id core.JobID, nodes ...string) core.JobID {
	r.t.Helper()
	planned := r.plan(core.Start{Job: id, Nodes: nodes})
	if len(planned.Refused) > 0 {
		r.t.Fatalf("start refused: %v", planned.Refused)
	}
	return planned.Started[0]
}

// report ends the current attempt of a job.
func (r *replica) report(id core.JobID, state core.JobState) core.Reported {
	r.t.Helper()
	return one[core.Reported](r, core.ReportJobs{Reports: []core.JobReport{
		{Job: id, Attempt: r.View().Job(id).Attempt, State: state},
	}})
}

// cancel cancels what one reference names.
func (r *replica) cancel(ref core.JobRef) error {
	r.t.Helper()
	return one[core.Cancelled](r, core.CancelJobs{Refs: []core.JobRef{ref}, By: "ann"}).Errors[0]
}

func whole(id core.JobID) core.JobRef { return core.JobRef{ID: id} }

func element(id core.JobID, index uint32) core.JobRef { return core.JobRef{ID: id, Index: &index} }

// job returns a valid spec of one CPU, with changes.
func job(changes ...func(*core.JobSpec)) core.JobSpec {
	spec := core.JobSpec{
		Name: "work", User: "ann", Partition: core.DefaultPartition,
		Nodes: 1, Tasks: 1, CPUsPerTask: 1, TimeLimit: time.Hour, WorkDir: "/tmp",
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// array makes a job an array.
func array(t testing.TB, text string) func(*core.JobSpec) {
	t.Helper()
	parsed, err := core.ParseArray(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *core.JobSpec) { s.Array = parsed }
}

// on asks for a number of nodes with a task on each.
func on(nodes uint32) func(*core.JobSpec) {
	return func(s *core.JobSpec) { s.Nodes, s.Tasks = nodes, nodes }
}

func submission(key string, specs ...core.JobSpec) core.SubmitJobs {
	c := core.SubmitJobs{RequestKey: key}
	for _, spec := range specs {
		c.Jobs = append(c.Jobs, core.Submission{Spec: spec, Payload: core.Payload{Script: []byte("#!/bin/sh\ntrue\n")}})
	}
	return c
}

// snapshot returns the bytes of the newest state.
func snapshot(t testing.TB, s *Store) []byte {
	t.Helper()
	taken, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := taken.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Fatalf("WriteTo gave %d, %v and wrote %d bytes", n, err, out.Len())
	}
	return out.Bytes()
}

// snapshotRecords returns the newest state as text without its header, which grows with
// every entry.
func snapshotRecords(t testing.TB, s *Store) []string {
	t.Helper()
	reader := newSnapshotReader(bytes.NewReader(snapshot(t, s)))
	var records []string
	for {
		record, err := reader.record()
		if err != nil {
			t.Fatal(err)
		}
		if record.GetHeader() != nil {
			continue
		}
		if record.GetEnd() != nil {
			return records
		}
		records = append(records, record.String())
	}
}

func ids(jobs []*core.Job) []core.JobID {
	var ids []core.JobID
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// want compares any two values.
func want[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, equalSets); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantState(r *replica, id core.JobID, state core.JobState) {
	r.t.Helper()
	if got := r.View().Job(id).State; got != state {
		r.t.Errorf("job %d is %v, want %v", id, got, state)
	}
}

func displayIDs(jobs []*core.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.DisplayID()+" "+j.State.String())
	}
	return out
}

func arrayOf(r *replica, id core.JobID) []string {
	return displayIDs(slices.Collect(r.View().ArrayJobs(id)))
}
