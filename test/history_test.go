package test

import (
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rowelhq/rowel/core"
)

// A history is what clients asked for and heard, and when. Each job that they know by a
// request key is a register of its own, and a history is linearizable if each register's
// part of it is.

// action is what a client asks of one job.
type action struct {
	kind   actionKind
	target *target
	alone  bool // sent once: the answer tells whether the job was there before
}

type actionKind string

const (
	submitJob actionKind = "submit"
	cancelJob actionKind = "cancel"
	getJob    actionKind = "get"
	listJobs  actionKind = "list" // one job's part in the answer
	listAll   actionKind = "list all"
)

// answer is what the client heard. With unknown it heard nothing that says whether it
// was done.
type answer struct {
	unknown   bool
	id        core.JobID // 0: no such job
	state     core.JobState
	duplicate bool
}

// register is a job's state in the model. The zero value has not been submitted.
type register struct {
	submitted bool
	cancelled bool
	id        core.JobID // 0: submitted, and nobody has heard its ID yet
}

// model is what one job may do.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make(map[*target][]porcupine.Operation)
		for _, op := range history {
			job := op.Input.(action).target
			parts[job] = append(parts[job], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(register).step(input.(action), output.(answer))
	},
	DescribeOperation: func(input, output any) string {
		in, out := input.(action), output.(answer)
		if out.unknown {
			return fmt.Sprintf("%s %s: unknown", in.kind, in.target.name)
		}
		return fmt.Sprintf("%s %s: job %d %s duplicate=%v", in.kind, in.target.name, out.id, out.state, out.duplicate)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}

// step says whether a job in this state may give that answer, and its next state.
func (r register) step(in action, out answer) (bool, register) {
	switch in.kind {
	case submitJob:
		if out.unknown {
			r.submitted = true
			return true, r
		}
		if in.alone && out.duplicate != r.submitted {
			return false, r
		}
		r.submitted = true
		return r.is(out.id)
	case cancelJob:
		if out.unknown {
			r.cancelled = r.submitted
			return true, r
		}
		if out.id == 0 {
			return !r.submitted, r
		}
		legal, next := r.is(out.id)
		next.cancelled = true
		return legal && r.submitted, next
	case listJobs: // those that are not over
		if out.id == 0 {
			return !r.submitted || r.cancelled, r
		}
		legal, next := r.is(out.id)
		return legal && r.submitted && !r.cancelled, next
	default:
		if out.id == 0 {
			return !r.submitted, r
		}
		want := core.JobPending
		if r.cancelled {
			want = core.JobCancelled
		}
		legal, next := r.is(out.id)
		return legal && r.submitted && out.state == want, next
	}
}

// is binds the job to an ID, or checks the one that it has.
func (r register) is(id core.JobID) (bool, register) {
	if r.id == 0 {
		r.id = id
	}
	return r.id == id, r
}

// history collects what clients did.
type history struct {
	began time.Time

	mu       sync.Mutex
	ops      []porcupine.Operation // guarded by mu
	answered int                   // guarded by mu; calls that got an answer
	unknown  int                   // guarded by mu; calls that did not
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// add records one call with its effect on each of its targets. A call whose outcome is
// unknown may take effect at any time later, or never.
func (h *history) add(client int, called int64, actions []action, answers []answer) {
	returned := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(answers) == 1 && answers[0].unknown {
		h.unknown++
		returned = math.MaxInt64
	} else {
		h.answered++
	}
	for i := range actions {
		h.ops = append(h.ops, porcupine.Operation{
			ClientId: client, Input: actions[i], Call: called, Output: answers[i], Return: returned,
		})
	}
}

// check has porcupine look for an order that explains the history.
func (h *history) check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	began, ops := time.Now(), pruned(h.ops)
	result := porcupine.CheckOperationsTimeout(model, ops, time.Minute)
	t.Logf("%d calls answered, %d of unknown outcome: %s after %v", h.answered, h.unknown, result, time.Since(began))
	if result == porcupine.Ok {
		return
	}
	t.Errorf("the history is not linearizable: %s", result)
	_, info := porcupine.CheckOperationsVerbose(model, ops, time.Minute)
	file, err := os.CreateTemp("", "rowel-history-*.html")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := porcupine.Visualize(model, info, file); err != nil {
		t.Fatal(err)
	}
	t.Logf("the history is drawn in %s", file.Name())
}

// pruned leaves out calls of unknown outcome that explain nothing more than another one:
// of several equal ones on one job the first may take effect whenever a later one may,
// and a second time changes nothing. Without this the search takes for ever.
func pruned(ops []porcupine.Operation) []porcupine.Operation {
	first := make(map[action]porcupine.Operation)
	var kept []porcupine.Operation
	for _, op := range ops {
		if !op.Output.(answer).unknown {
			kept = append(kept, op)
			continue
		}
		in := op.Input.(action)
		in.alone = false // makes no difference to a call without an answer
		if known, found := first[in]; !found || op.Call < known.Call {
			first[in] = op
		}
	}
	for _, op := range first {
		kept = append(kept, op)
	}
	return kept
}

// TestHistoryCheckerRefusesWrongHistories shows that the check can fail.
func TestHistoryCheckerRefusesWrongHistories(t *testing.T) {
	job := &target{name: "a"}
	op := func(kind actionKind, called, returned int64, out answer) porcupine.Operation {
		return porcupine.Operation{Input: action{kind: kind, target: job, alone: true}, Call: called, Return: returned, Output: out}
	}
	never := int64(math.MaxInt64)
	pending, cancelled := answer{id: 1, state: core.JobPending}, answer{id: 1, state: core.JobCancelled}
	for name, c := range map[string]struct {
		right   bool
		history []porcupine.Operation
	}{
		"a job is there once it is acknowledged": {true, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(getJob, 2, 3, pending),
		}},
		"an acknowledged job is lost": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(getJob, 2, 3, answer{}),
		}},
		"a list lacks an acknowledged job": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(listJobs, 2, 3, answer{}),
		}},
		"a read is stale": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(cancelJob, 2, 3, answer{id: 1}), op(getJob, 4, 5, pending),
		}},
		"a read overlaps the cancel": {true, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(cancelJob, 2, 5, answer{id: 1}), op(getJob, 3, 4, pending),
		}},
		"a cancelled job is pending again": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(cancelJob, 2, never, answer{unknown: true}),
			op(getJob, 3, 4, cancelled), op(getJob, 5, 6, pending),
		}},
		"a submission of unknown outcome may be done late or never": {true, []porcupine.Operation{
			op(submitJob, 0, never, answer{unknown: true}), op(listJobs, 1, 2, answer{}), op(getJob, 3, 4, pending),
		}},
		"one key gets two jobs": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(submitJob, 2, 3, answer{id: 2, duplicate: true}),
		}},
		"one key is new twice": {false, []porcupine.Operation{
			op(submitJob, 0, 1, answer{id: 1}), op(submitJob, 2, 3, answer{id: 1}),
		}},
	} {
		if got := porcupine.CheckOperations(model, c.history); got != c.right {
			t.Errorf("%s: linearizable %v, want %v", name, got, c.right)
		}
	}
}
