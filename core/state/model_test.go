package state

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

// model says in the plainest way what the state machine has to do: every element of an
// array is an entry of its own, nothing is indexed and sums are counted anew each time.
type model struct {
	at       time.Time
	index    uint64
	next     core.JobID
	elements map[elementName]*modelElement
	order    []elementName
	nodes    map[string]*modelNode
	keys     map[string]modelRequest
}

// elementName is a job's own ID with index 0, or an array's with the element's.
type elementName struct {
	id    core.JobID
	index uint32
}

type modelElement struct {
	spec     *core.JobSpec
	state    core.JobState
	record   core.JobID
	nodes    []string
	starts   int
	byAsking bool // cancelled
	endedAt  time.Time
	changed  uint64
}

type modelNode struct {
	capacity    core.Resources
	down, drain bool
}

type modelRequest struct {
	at  time.Time
	ids []core.JobID
}

func newModel() *model {
	return &model{
		next: 1, elements: map[elementName]*modelElement{}, nodes: map[string]*modelNode{}, keys: map[string]modelRequest{},
	}
}

// apply predicts a command's result: an error's kind, or what the result must equal.
func (m *model) apply(command core.Command) any {
	switch c := command.(type) {
	case core.SubmitJobs:
		return m.submit(c)
	case core.ApplyPlan:
		return m.plan(c.Plan)
	case core.ReportJobs:
		return m.report(c)
	case core.CancelJobs:
		return m.cancel(c)
	case core.RegisterNode:
		return m.register(c)
	case core.DrainNode:
		if m.nodes[c.Name] == nil {
			return core.NotFound
		}
		m.nodes[c.Name].drain = c.Drain
	case core.MarkNodes:
		return m.mark(c)
	case core.Forget:
		return m.forget(c)
	}
	return nil
}

func (m *model) submit(c core.SubmitJobs) any {
	if known, ok := m.keys[c.RequestKey]; ok {
		return core.Submitted{Jobs: known.ids, Duplicate: true}
	}
	if len(c.Jobs) == 0 {
		return core.Invalid
	}
	for _, j := range c.Jobs {
		if j.Spec.Validate() != nil {
			return core.Invalid
		}
	}
	var submitted core.Submitted
	for _, j := range c.Jobs {
		id := m.next
		m.next++
		submitted.Jobs = append(submitted.Jobs, id)
		indices := []uint32{0}
		if j.Spec.Array != nil {
			indices = indicesOf(j.Spec.Array.Indices)
		}
		for _, index := range indices {
			name := elementName{id, index}
			m.elements[name] = &modelElement{spec: &j.Spec, state: core.JobPending, record: id}
			m.order = append(m.order, name)
		}
	}
	m.keys[c.RequestKey] = modelRequest{m.at, submitted.Jobs}
	return submitted
}

// planned is what is compared of a Planned: the sentences are other tests' business.
type planned struct {
	Started []core.JobID
	Refused int
}

func (m *model) plan(plan core.Plan) any {
	var p planned
	for _, start := range plan.Starts {
		name, ok := m.startable(start)
		if !ok {
			p.Refused++
			continue
		}
		e := m.leave(name)
		e.state, e.nodes = core.JobRunning, start.Nodes
		e.starts++
		p.Started = append(p.Started, e.record)
	}
	return p
}

func (m *model) startable(start core.Start) (elementName, bool) {
	waiting := m.find(func(name elementName, e *modelElement) bool {
		return e.record == start.Job && e.state == core.JobPending
	})
	if len(waiting) == 0 || len(start.Nodes) != int(m.elements[waiting[0]].spec.Nodes) {
		return elementName{}, false
	}
	spec := m.elements[waiting[0]].spec
	running := m.find(func(name elementName, e *modelElement) bool {
		return name.id == waiting[0].id && e.state.Allocated()
	})
	if spec.Array != nil && spec.Array.MaxAtOnce > 0 && len(running) >= int(spec.Array.MaxAtOnce) {
		return elementName{}, false
	}
	for i, name := range start.Nodes {
		node := m.nodes[name]
		if node == nil || node.down || node.drain || slices.Contains(start.Nodes[:i], name) {
			return elementName{}, false
		}
		// A node that shrank below what its jobs hold has nothing left of that, and still
		// takes a job that asks for none of it.
		if used, _ := m.used(name); !spec.PerNode().FitsIn(node.capacity.Minus(used)) {
			return elementName{}, false
		}
	}
	return waiting[0], true
}

// used counts what the jobs on a node hold.
func (m *model) used(node string) (core.Resources, uint32) {
	var used core.Resources
	var jobs uint32
	for _, e := range m.elements {
		if e.state.Allocated() && slices.Contains(e.nodes, node) {
			used = used.Plus(e.spec.PerNode())
			jobs++
		}
	}
	return used, jobs
}

// leave gives a waiting element a record of its own.
func (m *model) leave(name elementName) *modelElement {
	waiting := m.find(func(other elementName, e *modelElement) bool {
		return other.id == name.id && e.state == core.JobPending
	})
	e := m.elements[name]
	if e.spec.Array != nil && len(waiting) > 1 {
		e.record = m.next
		m.next++
	}
	return e
}

func (m *model) end(e *modelElement, state core.JobState) {
	e.state, e.endedAt, e.changed = state, m.at, m.index
}

func (m *model) report(c core.ReportJobs) any {
	for _, report := range c.Reports {
		if !report.State.Terminal() {
			return core.Invalid
		}
	}
	var reported core.Reported
	for _, report := range c.Reports {
		for _, name := range m.find(func(_ elementName, e *modelElement) bool {
			return e.record == report.Job && e.state.Allocated() && report.Attempt == 1
		}) {
			e := m.elements[name]
			state := report.State
			if e.byAsking {
				state = core.JobCancelled
			}
			m.end(e, state)
			reported.Ended = append(reported.Ended, report.Job)
		}
	}
	return reported
}

// cancelled is which references of a CancelJobs were not found.
type cancelled []bool

func (m *model) cancel(c core.CancelJobs) any {
	if c.By == "" {
		return core.Invalid
	}
	result := cancelled{}
	for _, ref := range c.Refs {
		named := m.find(func(name elementName, e *modelElement) bool {
			if ref.Index != nil {
				return name == elementName{ref.ID, *ref.Index} && e.spec.Array != nil
			}
			return name.id == ref.ID || e.record == ref.ID
		})
		for _, name := range named {
			e := m.elements[name]
			switch e.state {
			case core.JobPending:
				if ref.Index != nil {
					m.leave(name)
				}
				m.end(e, core.JobCancelled)
			case core.JobRunning:
				e.state, e.byAsking = core.JobCompleting, true
			}
		}
		result = append(result, len(named) == 0)
	}
	return result
}

func (m *model) register(c core.RegisterNode) any {
	if c.Capacity.CPUs == 0 {
		return core.Invalid
	}
	if m.nodes[c.Name] == nil {
		m.nodes[c.Name] = &modelNode{}
	}
	m.nodes[c.Name].capacity, m.nodes[c.Name].down = c.Capacity, false
	return nil
}

func (m *model) mark(c core.MarkNodes) any {
	for _, mark := range c.Marks {
		if m.nodes[mark.Name] == nil {
			return core.NotFound
		}
	}
	for _, mark := range c.Marks {
		m.nodes[mark.Name].down = mark.Down
		for _, e := range m.elements {
			if mark.Down && e.state.Allocated() && slices.Contains(e.nodes, mark.Name) {
				m.end(e, core.JobNodeFail)
			}
		}
	}
	return nil
}

func (m *model) forget(c core.Forget) any {
	var forgotten core.Forgotten
	records := map[core.JobID]bool{}
	for _, name := range m.find(func(_ elementName, e *modelElement) bool {
		return e.state.Terminal() && e.endedAt.Before(c.EndedBefore) && e.changed <= c.HistoryIndex
	}) {
		records[m.elements[name].record] = true
		delete(m.elements, name)
	}
	m.order = slices.DeleteFunc(m.order, func(name elementName) bool { return m.elements[name] == nil })
	forgotten.Jobs = len(records)
	for key, request := range m.keys {
		if request.at.Before(c.EndedBefore) {
			delete(m.keys, key)
			forgotten.Requests++
		}
	}
	return forgotten
}

// find returns the names of elements in order of submission and index.
func (m *model) find(matches func(elementName, *modelElement) bool) []elementName {
	var found []elementName
	for _, name := range m.order {
		if matches(name, m.elements[name]) {
			found = append(found, name)
		}
	}
	return found
}

func indicesOf(s core.IndexSet) []uint32 {
	var indices []uint32
	for _, r := range s.Ranges() {
		for i := r.First; i <= r.Last; i += r.Step {
			indices = append(indices, i)
		}
	}
	return indices
}

// comparableResult makes a real result look like the model's.
func comparableResult(result core.Result) any {
	switch r := result.(type) {
	case error:
		return core.KindOf(r)
	case core.Planned:
		return planned{Started: r.Started, Refused: len(r.Refused)}
	case core.Cancelled:
		missing := cancelled{}
		for _, err := range r.Errors {
			missing = append(missing, err != nil)
		}
		return missing
	}
	return result
}

func TestStateDoesWhatThePlainModelDoes(t *testing.T) {
	source := newRandom(t)
	r := newReplica(t)
	m := newModel()
	for range 1500 {
		commands := source.entry(t, r.View())
		results := r.apply(commands...)
		m.index, m.at = r.index, r.now
		for i, command := range commands {
			expected := m.apply(command)
			if diff := cmp.Diff(expected, comparableResult(results[i])); diff != "" {
				t.Fatalf("entry %d, %T %+v (-model +state):\n%s", r.index, command, command, diff)
			}
		}
		compareWithModel(t, m, r.View())
		checkInvariants(t, r.View())
		if t.Failed() {
			t.Fatalf("after entry %d: %s", r.index, fmt.Sprintf("%+v", commands))
		}
	}
	if m.next < 500 {
		t.Errorf("only %d jobs: it proves little", m.next-1)
	}
}
