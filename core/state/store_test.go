package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestNewStoreIsEmpty(t *testing.T) {
	v := New().View()
	want(t, "index", v.Index(), 0)
	want(t, "time", v.Time(), time.Time{})
	want(t, "next job", v.NextJob(), 1)
}

func TestApplyMovesIndexAndTime(t *testing.T) {
	s := New()
	local := start.In(time.FixedZone("here", 3600))
	if _, err := s.Apply(9, local, nil); err != nil {
		t.Fatal(err)
	}
	want(t, "index", s.View().Index(), 9)
	want(t, "time in UTC", s.View().Time(), start)
}

func TestApplyNeverTurnsTimeBack(t *testing.T) {
	s := New()
	for i, at := range []time.Time{start, start.Add(-time.Hour), {}} {
		if _, err := s.Apply(uint64(i+1), at, nil); err != nil {
			t.Fatal(err)
		}
		want(t, "time", s.View().Time(), start)
	}
}

func TestApplyIgnoresReplay(t *testing.T) {
	r := newReplica(t)
	r.submit(job())
	before := r.View()
	for _, index := range []uint64{0, r.index - 1, r.index} {
		results, err := r.Apply(index, r.now, encode(t, submission("other", job())))
		if results != nil || err != nil {
			t.Errorf("replay of %d gave %v, %v", index, results, err)
		}
	}
	if r.View() != before {
		t.Error("a replay made a new view")
	}
}

func TestApplyDiesOfUnknownCommand(t *testing.T) {
	r := newReplica(t)
	r.submit(job())
	before := snapshot(t, r.Store)
	entry := append(encode(t, submission("next", job())), []byte{0xfa, 0x01, 0}) // field 31
	results, err := r.Apply(r.index+1, r.now, entry)
	var unknown *wire.UnknownFieldError
	if !errors.As(err, &unknown) || results != nil {
		t.Fatalf("got %v, %v", results, err)
	}
	want(t, "field", unknown.Field, 31)
	if !strings.HasPrefix(err.Error(), "apply entry 2: command 2 of 2: ") {
		t.Error(err)
	}
	want(t, "state", snapshot(t, r.Store), before)
}

func TestApplyDiesOfGarbage(t *testing.T) {
	for _, data := range [][]byte{nil, {}, {0xff}, []byte("garbage")} {
		if _, err := New().Apply(1, start, [][]byte{data}); err == nil {
			t.Errorf("%q was applied", data)
		}
	}
}

func TestApplyDiesOfBrokenInvariant(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	id := r.run("n1")
	lie := *r.View().Node("n1")
	lie.Jobs, lie.Allocated = 0, core.Resources{}
	txn := r.View().db.Txn(true)
	must(txn.Insert(tableNodes, &lie))
	txn.Commit()

	_, err := r.Apply(r.index+1, r.now, encode(t, core.ReportJobs{
		Reports: []core.JobReport{{Job: id, Attempt: 1, State: core.JobCompleted}},
	}))
	if err == nil || !strings.Contains(err.Error(), "broken invariant: node n1 does not hold") {
		t.Errorf("got %v", err)
	}
}

func TestRefusedCommandStopsNoOther(t *testing.T) {
	r := newReplica(t)
	results := r.apply(submission("a", job()), core.DrainNode{Name: "nx"}, submission("b", job()))
	want(t, "first", results[0].(core.Submitted).Jobs, []core.JobID{1})
	want(t, "second", core.KindOf(results[1].(error)), core.NotFound)
	want(t, "third", results[2].(core.Submitted).Jobs, []core.JobID{2})
}
