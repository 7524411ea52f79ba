package state

import (
	"slices"
	"testing"

	"github.com/rowelhq/rowel/core"
)

// seen is what both the model and a view say of an element.
type seen struct {
	State  core.JobState
	Record core.JobID
	Starts int
}

// compareWithModel makes sure that the view has every element of the model once, in the
// same state, started as often, and every node with what its jobs hold.
func compareWithModel(t *testing.T, m *model, v *View) {
	t.Helper()
	expected := map[elementName]seen{}
	for name, e := range m.elements {
		expected[name] = seen{e.state, e.record, e.starts}
	}
	actual := map[elementName]seen{}
	add := func(name elementName, s seen) {
		if _, twice := actual[name]; twice {
			t.Errorf("element %v is there twice", name)
		}
		actual[name] = s
	}
	for j := range v.Jobs() {
		s := seen{j.State, j.ID, int(j.Attempt)}
		if !j.ArrayMaster() {
			add(elementName{j.PayloadID(), j.ArrayIndex}, s)
		}
		for _, index := range indicesOf(j.ArrayPending) {
			add(elementName{j.ID, index}, s)
		}
	}
	want(t, "elements", actual, expected)
	for node := range v.Nodes() {
		used, jobs := m.used(node.Name)
		want(t, "allocated on "+node.Name, node.Allocated, used)
		want(t, "jobs on "+node.Name, node.Jobs, jobs)
		want(t, "down of "+node.Name, node.Down, m.nodes[node.Name].down)
	}
	want(t, "next job", v.NextJob(), m.next)
}

// checkInvariants makes sure that a view agrees with itself: every index, every count
// and every sum with a plain walk over all records.
func checkInvariants(t *testing.T, v *View) {
	t.Helper()
	jobs := slices.Collect(v.Jobs())
	var counts Counts
	held := map[string]core.Resources{}
	unfinished := map[core.JobID]uint32{}
	for _, j := range jobs {
		counts.add(j)
		if !j.State.Terminal() {
			unfinished[j.PayloadID()] += elements(j)
		}
		for _, p := range j.Placements {
			if j.State.Allocated() {
				held[p.Node] = held[p.Node].Plus(p.Resources)
			}
		}
	}
	want(t, "counts", v.Counts(), counts)
	for node := range v.Nodes() {
		want(t, "held on "+node.Name, node.Allocated, held[node.Name])
	}
	stored := map[core.JobID]uint32{}
	for payload := range all[storedPayload](v, tablePayloads, indexID, nil) {
		stored[payload.job] = payload.unfinished
	}
	want(t, "payloads", stored, unfinished)
	checkIndexes(t, v, jobs)
	checkArrays(t, v, jobs)
}

func checkIndexes(t *testing.T, v *View, jobs []*core.Job) {
	t.Helper()
	only := func(keep func(*core.Job) bool) []core.JobID {
		return ids(slices.DeleteFunc(slices.Clone(jobs), func(j *core.Job) bool { return !keep(j) }))
	}
	want(t, "pending", ids(slices.Collect(v.Pending())), only(func(j *core.Job) bool { return j.State == core.JobPending }))
	want(t, "allocated", ids(slices.Collect(v.Allocated())), only(func(j *core.Job) bool { return j.State.Allocated() }))
	want(t, "terminal", ids(slices.Collect(v.Terminal())), only(func(j *core.Job) bool { return j.State.Terminal() }))
	for node := range v.Nodes() {
		want(t, "on "+node.Name, ids(slices.Collect(v.JobsOn(node.Name))), only(func(j *core.Job) bool {
			return j.State.Allocated() && slices.ContainsFunc(j.Placements, func(p core.Placement) bool { return p.Node == node.Name })
		}))
	}
	modified := ids(slices.Collect(v.JobsModifiedSince(0)))
	if !slices.IsSortedFunc(modified, func(a, b core.JobID) int {
		return int(v.Job(a).ModifyIndex) - int(v.Job(b).ModifyIndex)
	}) {
		t.Error("modified jobs are out of order")
	}
	slices.Sort(modified)
	want(t, "modified", modified, ids(jobs))
}

func checkArrays(t *testing.T, v *View, jobs []*core.Job) {
	t.Helper()
	for _, j := range jobs {
		if j.ArrayID == 0 {
			continue
		}
		records := slices.Collect(v.ArrayJobs(j.ArrayID))
		if !slices.ContainsFunc(records, func(r *core.Job) bool { return r.ID == j.ID }) {
			t.Errorf("job %d is missing from its array %d", j.ID, j.ArrayID)
		}
		if !j.ArrayMaster() || j.State.Terminal() {
			want(t, "running of "+j.DisplayID(), j.ArrayRunning, 0)
			continue
		}
		running := uint32(0)
		for _, r := range records {
			if r.State.Allocated() {
				running++
			}
		}
		want(t, "running of "+j.DisplayID(), j.ArrayRunning, running)
		if limit := j.Spec.Array.MaxAtOnce; limit > 0 && running > limit {
			t.Errorf("array %d runs %d elements, its limit is %d", j.ArrayID, running, limit)
		}
	}
}
