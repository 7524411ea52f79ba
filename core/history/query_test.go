package history_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/history"
)

// pastOfFour ends four jobs: 1 of ada starts first and ends last, 2 of bob fails, 3 of
// ada is cancelled while pending, 4 of bob completes.
func pastOfFour(t *testing.T) (*cluster, *history.History) {
	c, h := newCluster(t), openNew(t)
	c.start(c.submit("ada", "")) // entries 2, 3
	c.run("bob", core.JobFailed) // 4, 5, 6
	pending := c.submit("ada", "")
	c.apply(core.CancelJobs{Refs: []core.JobRef{{ID: pending}}, By: "ada"}) // 7, 8
	c.run("bob", core.JobCompleted)                                         // 9, 10, 11
	c.end(1, core.JobCompleted)                                             // 12
	followTo(t, h, c)
	return c, h
}

func TestQueryFilters(t *testing.T) {
	_, h := pastOfFour(t)
	tests := []struct {
		name   string
		filter history.Filter
		want   []core.JobID
	}{
		{"everything, the newest end first", history.Filter{}, []core.JobID{1, 4, 3, 2}},
		{"by ID", history.Filter{IDs: []core.JobID{2, 4, 99}}, []core.JobID{4, 2}},
		{"by user", history.Filter{Users: []string{"bob"}}, []core.JobID{4, 2}},
		{"by state", history.Filter{States: []core.JobState{core.JobFailed, core.JobCancelled}}, []core.JobID{3, 2}},
		{"ended at or after", history.Filter{Since: at(11)}, []core.JobID{1, 4}},
		{"started before", history.Filter{Until: at(5)}, []core.JobID{1}},
		{"what never started, by its end", history.Filter{Until: at(9)}, []core.JobID{1, 3, 2}},
		{"all at once", history.Filter{IDs: []core.JobID{1, 2, 3}, Users: []string{"ada"}, Since: at(9)}, []core.JobID{1}},
		{"nothing", history.Filter{Users: []string{"eve"}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ids(query(t, h, test.filter))); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryLimitKeepsTheNewestAndSaysSo(t *testing.T) {
	_, h := pastOfFour(t)
	for _, filter := range []history.Filter{{Limit: 2}, {Limit: 2, IDs: []core.JobID{1, 2, 3, 4}}} {
		jobs, truncated, err := h.Query(filter)
		if err != nil || !truncated || !cmp.Equal(ids(jobs), []core.JobID{1, 4}) {
			t.Errorf("Query(%+v) = %v, truncated %v, %v", filter, ids(jobs), truncated, err)
		}
	}
	if _, truncated, err := h.Query(history.Filter{Limit: 4}); truncated || err != nil {
		t.Errorf("four of four records: truncated %v, %v", truncated, err)
	}
}

func TestTakesMatchesLiveJobs(t *testing.T) {
	c := newCluster(t)
	id := c.start(c.submit("ada", ""))
	running := c.View().Job(id)
	late := history.Filter{Since: at(1000), Until: at(2000)}
	if !late.Takes(running) {
		t.Error("a running job ends after any time that is past")
	}
	early := history.Filter{Until: at(1)}
	if early.Takes(running) {
		t.Error("the job started after the filter's end")
	}
}

func TestMergePrefersLiveRecords(t *testing.T) {
	c, h := pastOfFour(t)
	id := c.submit("ada", "")
	waiting := c.View().Job(id)
	live := *c.View().Job(4)
	live.Message = "live"
	merged := history.Merge(query(t, h, history.Filter{}), []*core.Job{&live, waiting})
	if diff := cmp.Diff([]core.JobID{5, 1, 4, 3, 2}, ids(merged)); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if merged[2].Message != "live" {
		t.Error("the record of the history won")
	}
}

func TestCorruptRecordIsNamedAndOthersAreRead(t *testing.T) {
	c := newCluster(t)
	path := filepath.Join(t.TempDir(), history.FileName)
	h := open(t, path)
	c.run("ada", core.JobCompleted)
	c.run("ada", core.JobCompleted)
	followTo(t, h, c)
	closeFile(t, h)
	turnBit(t, path)
	h = open(t, path)
	defer closeFile(t, h)

	jobs, _, err := h.Query(history.Filter{})
	var corrupt *history.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Job != 1 || corrupt.Attempt != 1 || corrupt.Count != 1 {
		t.Errorf("error is %v, want one that names job 1, attempt 1", err)
	}
	if diff := cmp.Diff([]core.JobID{2}, ids(jobs)); diff != "" {
		t.Errorf("readable records (-want +got):\n%s", diff)
	}
	if _, _, err := h.Query(history.Filter{IDs: []core.JobID{2}}); err != nil {
		t.Errorf("a query that does not meet the record: %v", err)
	}
	followTo(t, h, c) // the state still has the job: its record is written anew
	if diff := cmp.Diff([]core.JobID{2, 1}, ids(query(t, h, history.Filter{}))); diff != "" {
		t.Errorf("records after following again (-want +got):\n%s", diff)
	}
}

// turnBit damages the first record of the file.
func turnBit(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte("jobs"))
		key, value := bucket.Cursor().First()
		damaged := append([]byte(nil), value...)
		damaged[len(damaged)-1] ^= 1
		return bucket.Put(key, damaged)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAFileInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), history.FileName)
	h := open(t, path)
	defer closeFile(t, h)
	if _, err := history.Open(path, hclog.NewNullLogger()); core.KindOf(err) != core.Conflict {
		t.Errorf("opening it twice gives %v", err)
	}
}

func TestOpenRefusesANewerFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), history.FileName)
	closeFile(t, open(t, path))
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("version"), []byte{0, 0, 0, 0, 0, 0, 0, 2})
	})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := history.Open(path, hclog.NewNullLogger()); core.KindOf(err) != core.Invalid {
		t.Errorf("a file of format 2 gives %v", err)
	}
}

func TestTenThousandRecordsAnswerQuickly(t *testing.T) {
	h := fillWith(t, 10_000)
	began := time.Now()
	if got := len(query(t, h, history.Filter{Users: []string{"user-7"}})); got != 100 {
		t.Fatalf("found %d jobs of user-7, want 100", got)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a look at 10,000 records took %v", took)
	}
}
