package state

import (
	"math"
	"slices"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestViewStaysAsItIs(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 2, 0)
	id := r.submit(job())[0]
	old := r.View()
	r.mustStart(id, "n1")
	r.submit(job())
	want(t, "state", old.Job(id).State, core.JobPending)
	want(t, "node", old.Node("n1").Jobs, 0)
	want(t, "pending", ids(slices.Collect(old.Pending())), []core.JobID{id})
	want(t, "next", old.NextJob(), 2)
}

func TestChangedClosesAtNextEntry(t *testing.T) {
	r := newReplica(t)
	old := r.View()
	select {
	case <-old.Changed():
		t.Fatal("closed before anything changed")
	default:
	}
	r.apply()
	<-old.Changed()
	select {
	case <-r.View().Changed():
		t.Fatal("the newest view is not the newest")
	default:
	}
}

func TestViewsOfOneIndexShareChanged(t *testing.T) {
	s := New()
	if first, second := s.View(), s.View(); first.Changed() != second.Changed() {
		t.Error("two channels for one index")
	}
}

func TestViewListsJobsByPhase(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 9, 0)
	jobs := r.submit(job(), job(), job(), job())
	for _, id := range jobs[1:] {
		r.mustStart(id, "n1")
	}
	r.cancel(whole(jobs[2]))
	r.report(jobs[3], core.JobTimeout)
	v := r.View()
	want(t, "pending", ids(slices.Collect(v.Pending())), jobs[:1])
	want(t, "allocated", ids(slices.Collect(v.Allocated())), jobs[1:3])
	want(t, "terminal", ids(slices.Collect(v.Terminal())), jobs[3:])
	want(t, "all", ids(slices.Collect(v.Jobs())), jobs)
	want(t, "on node", ids(slices.Collect(v.JobsOn("n1"))), jobs[1:3])
	want(t, "completing", v.Counts().Of(core.JobCompleting), 1)
	want(t, "no such state", v.Counts().Of(core.JobState(200)), 0)
}

func TestJobsOnIsNotFooledByPrefix(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 1, 0)
	r.addNode("n10", 1, 0)
	id := r.run("n10")
	want(t, "on n1", len(slices.Collect(r.View().JobsOn("n1"))), 0)
	want(t, "on n10", ids(slices.Collect(r.View().JobsOn("n10"))), []core.JobID{id})
}

func TestNodesComeByName(t *testing.T) {
	r := newReplica(t)
	for _, name := range []string{"b", "c", "a"} {
		r.addNode(name, 1, 0)
	}
	var names []string
	for node := range r.View().Nodes() {
		names = append(names, node.Name)
	}
	want(t, "names", names, []string{"a", "b", "c"})
}

func TestJobsModifiedSinceYieldsLaterChangesInOrder(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 9, 0)
	jobs := r.submit(job(), job(), job())
	since := r.index
	r.mustStart(jobs[2], "n1")
	r.mustStart(jobs[0], "n1")
	want(t, "changed", ids(slices.Collect(r.View().JobsModifiedSince(since))), []core.JobID{jobs[2], jobs[0]})
	want(t, "since all", len(slices.Collect(r.View().JobsModifiedSince(0))), 3)
	want(t, "since now", len(slices.Collect(r.View().JobsModifiedSince(r.index))), 0)
	want(t, "since ever", len(slices.Collect(r.View().JobsModifiedSince(math.MaxUint64))), 0)
}

func TestResolveFindsElementWhereverItIs(t *testing.T) {
	r := newReplica(t)
	r.addNode("n1", 9, 0)
	id := r.submit(job(array(t, "0-2")))[0]
	running := r.mustStart(id, "n1")
	cases := []struct {
		name string
		ref  core.JobRef
		want []core.JobID
	}{
		{"whole array", whole(id), []core.JobID{id, running}},
		{"started element", element(id, 0), []core.JobID{running}},
		{"waiting element", element(id, 2), []core.JobID{id}},
		{"element by its own ID", whole(running), []core.JobID{running}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			jobs, err := r.View().Resolve(c.ref)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "jobs", ids(jobs), c.want)
		})
	}
}

func TestResolveSaysWhatIsMissing(t *testing.T) {
	r := newReplica(t)
	plain := r.submit(job())[0]
	_, err := r.View().Resolve(element(plain, 3))
	want(t, "kind", core.KindOf(err), core.NotFound)
	want(t, "sentence", err.Error(), "job 1 is no array and has no element 3")
	_, err = r.View().Resolve(whole(7))
	want(t, "kind", core.KindOf(err), core.NotFound)
}

func TestIterationCanStop(t *testing.T) {
	r := newReplica(t)
	r.submit(job(), job(), job())
	seen := 0
	for range r.View().Jobs() {
		if seen++; seen == 2 {
			break
		}
	}
	want(t, "seen", seen, 2)
}
