package state

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew; never for a format that was released")

// TestSnapshotReadsAsItWasFirstWritten restores what the first version wrote. A later
// format gets a file of its own beside this one, which must stay readable.
func TestSnapshotReadsAsItWasFirstWritten(t *testing.T) {
	r := busy(t)
	path := filepath.Join("testdata", "snapshot-1.bin")
	if *update {
		if err := os.WriteFile(path, snapshot(t, r.Store), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restored := New()
	if err := restored.Restore(bytes.NewReader(golden)); err != nil {
		t.Fatal(err)
	}
	want(t, "state", snapshotRecords(t, restored), snapshotRecords(t, r.Store))
	if !bytes.Equal(snapshot(t, r.Store), golden) {
		t.Error("the same state is written differently now: that needs a new snapshotVersion")
	}
}
