package history

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// cancelledJobs returns a state in which n jobs have ended.
func cancelledJobs(t *testing.T, n int) *state.Store {
	t.Helper()
	var submit core.SubmitJobs
	cancel := core.CancelJobs{By: "ada"}
	for i := range n {
		spec := core.JobSpec{
			Name: "j", User: "ada", Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1,
			Comment: strings.Repeat("x", core.MaxCommentBytes),
		}
		submit.Jobs = append(submit.Jobs, core.Submission{Spec: spec, Payload: core.Payload{Argv: []string{"true"}}})
		cancel.Refs = append(cancel.Refs, core.JobRef{ID: core.JobID(i + 1)})
	}
	submit.RequestKey = fmt.Sprint(n)
	store := state.New()
	for i, command := range []core.Command{submit, cancel} {
		data, err := wire.EncodeCommand(command)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Apply(uint64(i+1), time.Unix(1_800_000_000, 0), [][]byte{data}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func TestFullDiskDelaysHistoryAndLosesNothing(t *testing.T) {
	h, err := Open(filepath.Join(t.TempDir(), FileName), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	view := cancelledJobs(t, 500).View()
	f := follower{history: h}

	h.db.MaxSize = 64 << 10
	if err := f.write(view, maxCommit); err == nil {
		t.Fatal("half a megabyte went into a file of 64 KiB")
	}
	if h.Index() != 0 {
		t.Fatalf("the index says %d and nothing was written", h.Index())
	}
	h.db.MaxSize = 0
	if err := f.write(view, maxCommit); err != nil {
		t.Fatal(err)
	}
	jobs, _, err := h.Query(Filter{})
	if err != nil || len(jobs) != 500 || h.Index() != view.Index() {
		t.Errorf("with space again: %d records at index %d, %v", len(jobs), h.Index(), err)
	}
}

func TestManyRecordsAreCommittedInParts(t *testing.T) {
	h, err := Open(filepath.Join(t.TempDir(), FileName), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f := follower{history: h}
	view := cancelledJobs(t, 25).View()
	if err := f.write(view, 10); err != nil {
		t.Fatal(err)
	}
	if jobs, _, err := h.Query(Filter{}); err != nil || len(jobs) != 25 || h.Index() != view.Index() {
		t.Errorf("%d records at index %d, %v", len(jobs), h.Index(), err)
	}
}
