package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rowelhq/rowel/core"
)

// busy returns a replica with something in every table.
func busy(t testing.TB) *replica {
	r := newReplica(t)
	r.accepted(core.AnnounceMember{Member: core.Member{ServerID: "a#1", Name: "a", APIAddress: "a:6817"}})
	r.accepted(core.RegisterNode{Name: "n1", Capacity: core.Resources{CPUs: 8}, Labels: map[string]string{"b": "2", "a": "1", "c": "3"}})
	r.addNode("n2", 8, 1000)
	list := r.submit(job(array(t, "0-7%3")), job())
	start := core.Start{Job: list[0], Nodes: []string{"n1"}}
	r.plan(start, start)
	r.cancel(whole(list[1]))
	r.accepted(core.DrainNode{Name: "n2", Drain: true, Reason: "fan", By: "ann"})
	r.report(r.run("n1"), core.JobFailed)
	return r
}

func TestRestoreGivesTheSameState(t *testing.T) {
	r := busy(t)
	data := snapshot(t, r.Store)
	copied := New()
	if err := copied.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	want(t, "bytes", snapshot(t, copied), data)
	want(t, "jobs", slices.Collect(copied.View().Jobs()), slices.Collect(r.View().Jobs()))
	want(t, "counts", copied.View().Counts(), r.View().Counts())
	want(t, "time", copied.View().Time(), r.View().Time())
}

func TestRestoredElementsShareTheirSpec(t *testing.T) {
	copied := New()
	if err := copied.Restore(bytes.NewReader(snapshot(t, busy(t).Store))); err != nil {
		t.Fatal(err)
	}
	specs := map[*core.JobSpec]bool{}
	for j := range copied.View().ArrayJobs(1) {
		specs[j.Spec] = true
	}
	want(t, "specs", len(specs), 1)
}

func TestSnapshotShowsTheMomentItWasTaken(t *testing.T) {
	r := busy(t)
	before := snapshot(t, r.Store)
	taken, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	r.submit(job())
	var out bytes.Buffer
	if _, err := taken.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	want(t, "bytes", out.Bytes(), before)
	want(t, "index", taken.Index(), r.index-1)
}

func TestRestoreWakesWhoWaits(t *testing.T) {
	r := busy(t)
	old := New()
	waited := old.View().Changed()
	if err := old.Restore(bytes.NewReader(snapshot(t, r.Store))); err != nil {
		t.Fatal(err)
	}
	<-waited
}

func TestRestoreReplacesNewerState(t *testing.T) {
	r := newReplica(t)
	data := snapshot(t, r.Store)
	r.submit(job())
	if err := r.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	want(t, "index", r.View().Index(), 0)
}

// mustRefuse restores into a store with a state, which must stay.
func mustRefuse(t *testing.T, data []byte) error {
	t.Helper()
	s := newReplica(t)
	s.submit(job())
	before := s.View()
	err := s.Restore(bytes.NewReader(data))
	if err == nil {
		t.Fatal("restored")
	}
	if s.View() != before {
		t.Fatal("the old state is gone")
	}
	return err
}

func TestRestoreRefusesEveryShorterStream(t *testing.T) {
	data := snapshot(t, busy(t).Store)
	for n := range data {
		if err := mustRefuse(t, data[:n]); !strings.Contains(err.Error(), "cut short") {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
}

func TestRestoreRefusesEveryFlippedBit(t *testing.T) {
	data := snapshot(t, busy(t).Store)
	for i := range data {
		flipped := bytes.Clone(data)
		flipped[i] ^= 1 << (i % 8)
		if err := mustRefuse(t, flipped); !strings.Contains(err.Error(), " at byte ") {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func TestRestoreRefusesBytesBehindTheEnd(t *testing.T) {
	err := mustRefuse(t, append(snapshot(t, busy(t).Store), 0))
	if !strings.Contains(err.Error(), "more bytes follow") {
		t.Error(err)
	}
}

func TestRestoreRefusesHugeLengthWithoutMemory(t *testing.T) {
	data := binary.AppendUvarint(nil, maxRecordBytes+1)
	if err := mustRefuse(t, data); !strings.Contains(err.Error(), "the limit is") {
		t.Error(err)
	}
	data = append(binary.AppendUvarint(nil, maxRecordBytes), "short"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := mustRefuse(t, data); !strings.Contains(err.Error(), "cut short") {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > maxRecordBytes/8 {
		t.Errorf("a claim of %d bytes took %d", maxRecordBytes, used)
	}
}

func TestRestoreReturnsReadError(t *testing.T) {
	data := snapshot(t, busy(t).Store)
	broken := errors.New("disk on fire")
	err := New().Restore(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestWriteToReturnsWriteError(t *testing.T) {
	taken, err := busy(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	broken := errors.New("disk full")
	reader.CloseWithError(broken)
	if n, err := taken.WriteTo(writer); !errors.Is(err, broken) || n != 0 {
		t.Errorf("got %d, %v", n, err)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(snapshot(f, busy(f).Store))
	f.Add(snapshot(f, New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		if err := s.Restore(bytes.NewReader(data)); err != nil {
			return
		}
		again := New()
		if err := again.Restore(bytes.NewReader(snapshot(t, s))); err != nil {
			t.Fatalf("what was restored cannot be restored again: %v", err)
		}
	})
}

// FuzzRestoreRecords gets past the checksum, which hides the records from FuzzRestore.
func FuzzRestoreRecords(f *testing.F) {
	data := snapshot(f, busy(f).Store)
	f.Add(data[:len(data)-trailerBytes])
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := newChecksum()
		sum.Write(data)
		s := New()
		if err := s.Restore(bytes.NewReader(sum.Sum(data))); err != nil {
			return
		}
		for j := range s.View().Jobs() {
			_ = j.DisplayID()
		}
		snapshot(t, s)
	})
}
