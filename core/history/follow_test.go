package history_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/state"
)

func TestRecordIsWhatTheStateHad(t *testing.T) {
	c, h := newCluster(t), openNew(t)
	id := c.run("ada", core.JobFailed)
	want := c.View().Job(id)
	followTo(t, h, c)
	c.forget()
	got := query(t, h, history.Filter{})
	if diff := cmp.Diff([]*core.Job{want}, got, cmp.AllowUnexported(core.IndexSet{})); diff != "" {
		t.Errorf("history differs from the state (-state +history):\n%s", diff)
	}
}

func TestJobsThatHaveNotEndedAreNoHistory(t *testing.T) {
	c, h := newCluster(t), openNew(t)
	c.submit("ada", "")
	c.start(c.submit("ada", ""))
	followTo(t, h, c)
	if got := query(t, h, history.Filter{}); len(got) != 0 {
		t.Errorf("history has %v", ids(got))
	}
}

func TestArrayCancelledWhilePendingIsARecord(t *testing.T) {
	c, h := newCluster(t), openNew(t)
	array := c.submit("ada", "0-3")
	element := c.start(array)
	c.end(element, core.JobCompleted)
	c.apply(core.CancelJobs{Refs: []core.JobRef{{ID: array}}, By: "ada"})
	followTo(t, h, c)
	got := query(t, h, history.Filter{IDs: []core.JobID{array}})
	if len(got) != 2 || got[0].State != core.JobCancelled || got[0].ArrayPending.String() != "1-3" || got[1].ArrayIndex != 0 {
		t.Errorf("history of the array is %+v", got)
	}
}

func TestRunFollowsJobsAsTheyEnd(t *testing.T) {
	c, h := newCluster(t), openNew(t)
	stop := follow(t, h, c.View)
	defer stop()
	for range 3 {
		id := c.run("ada", core.JobCompleted)
		waitFor(t, h, c.View().Index())
		if got := ids(query(t, h, history.Filter{Limit: 1})); got[0] != id {
			t.Fatalf("newest record is %v, want %d", got, id)
		}
	}
}

func TestKilledHistoryHoldsEachJobOnceAfterRestart(t *testing.T) {
	c := newCluster(t)
	directory := t.TempDir()
	first := open(t, filepath.Join(directory, "first.db"))
	c.run("ada", core.JobCompleted)
	followTo(t, first, c)
	// The copy is what kill -9 leaves: no flush, no close, and more has ended since.
	killed := filepath.Join(directory, "killed.db")
	copyFile(t, filepath.Join(directory, "first.db"), killed)
	closeFile(t, first)
	c.run("ada", core.JobFailed)
	c.run("ada", core.JobTimeout)

	second := open(t, killed)
	defer closeFile(t, second)
	followTo(t, second, c)
	followTo(t, second, c) // a second start finds nothing to do
	if diff := cmp.Diff([]core.JobID{3, 2, 1}, ids(query(t, second, history.Filter{}))); diff != "" {
		t.Errorf("records after restart (-want +got):\n%s", diff)
	}
}

func TestReopenedHistoryKnowsItsIndex(t *testing.T) {
	c := newCluster(t)
	path := filepath.Join(t.TempDir(), history.FileName)
	h := open(t, path)
	c.run("ada", core.JobCompleted)
	followTo(t, h, c)
	closeFile(t, h)
	h = open(t, path)
	defer closeFile(t, h)
	if h.Index() != c.View().Index() {
		t.Errorf("index is %d after reopening, want %d", h.Index(), c.View().Index())
	}
}

func TestRecordsStayWhenTheStateForgets(t *testing.T) {
	c := newCluster(t)
	path := filepath.Join(t.TempDir(), history.FileName)
	h := open(t, path)
	c.run("ada", core.JobCompleted)
	followTo(t, h, c)
	c.forget()
	closeFile(t, h)
	h = open(t, path)
	defer closeFile(t, h)
	followTo(t, h, c)
	if got := query(t, h, history.Filter{}); len(got) != 1 {
		t.Errorf("history has %d records, want 1", len(got))
	}
}

// A backup restored into a cluster brings back IDs that were given out since.
func TestRestoredStateReplacesRecordsOfItsOtherPast(t *testing.T) {
	h := openNew(t)
	before := newCluster(t)
	before.run("ada", core.JobCompleted)
	before.run("ada", core.JobCompleted)
	followTo(t, h, before)
	restored := newCluster(t)
	restored.run("bob", core.JobFailed)

	followTo(t, h, restored)
	got := query(t, h, history.Filter{IDs: []core.JobID{1}})
	if len(got) != 1 || got[0].Spec.User != "bob" {
		t.Errorf("job 1 is %+v", got)
	}
	if all := ids(query(t, h, history.Filter{})); len(all) != 2 {
		t.Errorf("history lists %v, want each of 2 jobs once", all)
	}
}

func TestStateThatGoesBackIsLookedAtWhole(t *testing.T) {
	h := openNew(t)
	before := newCluster(t)
	before.run("ada", core.JobCompleted)
	before.run("ada", core.JobCompleted)
	restored := newCluster(t)
	restored.run("bob", core.JobFailed)
	first := before.View()
	view := func() *state.View { // what a store shows when it restores
		if h.Index() < first.Index() {
			return first
		}
		return restored.View()
	}
	stop := follow(t, h, view)
	defer stop()
	waitFor(t, h, first.Index())
	before.submit("ada", "") // closes the view's channel, as a restore does
	waitFor(t, h, restored.View().Index())
	if got := query(t, h, history.Filter{Users: []string{"bob"}}); len(got) != 1 {
		t.Errorf("history has %d jobs of the restored state, want 1", len(got))
	}
}

// Commits are what history costs: one flush of the disk each.
func TestCommitsAreSpacedUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := newCluster(t), openNew(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx, c.View) }()
		synctest.Wait()

		c.run("ada", core.JobCompleted)
		synctest.Wait()
		if h.Index() != c.View().Index() {
			t.Errorf("an idle history waited: it is at %d of %d", h.Index(), c.View().Index())
		}
		for range 10 {
			c.run("ada", core.JobCompleted)
			synctest.Wait()
		}
		if got := len(query(t, h, history.Filter{})); got != 1 {
			t.Errorf("%d records were committed within 250 ms of a commit, want none but the first", got)
		}
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if got := len(query(t, h, history.Filter{})); got != 11 {
			t.Errorf("history has %d records after 250 ms, want 11", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}
