package consensus

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func newStore(t testing.TB) *store {
	t.Helper()
	s, err := openStore(t.TempDir(), "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

func entries(from, to uint64) []*raft.Log {
	var list []*raft.Log
	for i := from; i <= to; i++ {
		list = append(list, &raft.Log{Index: i, Term: 1, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d", i)})
	}
	return list
}

func (s *store) mustHold(t testing.TB, first, last uint64) {
	t.Helper()
	gotFirst, _ := s.FirstIndex()
	gotLast, _ := s.LastIndex()
	if gotFirst != first || gotLast != last {
		t.Fatalf("log has %d to %d, want %d to %d", gotFirst, gotLast, first, last)
	}
	if first == 0 {
		return
	}
	for i := first; i <= last; i++ {
		var entry raft.Log
		if err := s.GetLog(i, &entry); err != nil {
			t.Fatal(err)
		}
	}
	for _, outside := range []uint64{first - 1, last + 1} {
		var entry raft.Log
		if err := s.GetLog(outside, &entry); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry %d outside the log: %v", outside, err)
		}
	}
}

func TestStoreStartsEmpty(t *testing.T) {
	s := newStore(t)
	s.mustHold(t, 0, 0)
	if _, err := s.GetUint64([]byte("CurrentTerm")); err == nil || err.Error() != "not found" {
		t.Errorf("missing key: %v, raft expects \"not found\"", err)
	}
}

func TestStoreRefusesAGap(t *testing.T) {
	s := newStore(t)
	if err := s.StoreLogs(entries(5, 8)); err != nil { // after a snapshot a log begins anywhere
		t.Fatal(err)
	}
	if err := s.StoreLogs(entries(10, 11)); err == nil {
		t.Error("stored entries that leave a gap")
	}
	if err := s.StoreLog(entries(8, 8)[0]); err == nil {
		t.Error("overwrote an entry without truncating")
	}
	if err := s.DeleteRange(6, 7); err == nil {
		t.Error("deleted from the middle")
	}
	s.mustHold(t, 5, 8)
}

func TestStoreTruncatesEitherEndAcrossChunks(t *testing.T) {
	const n = 3*deleteChunk + 7
	for _, c := range []struct {
		name            string
		lowest, highest uint64
		first, last     uint64
	}{
		{"the oldest", 1, 2*deleteChunk + 3, 2*deleteChunk + 4, n},
		{"the newest", 10, n, 1, 9},
		{"all", 1, n, 0, 0},
		{"more than there is", 0, n + 100, 0, 0},
		{"the first", 1, 1, 2, n},
		{"the last", n, n, 1, n - 1},
		{"none", n + 1, n + 5, 1, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			if err := s.StoreLogs(entries(1, n)); err != nil {
				t.Fatal(err)
			}
			if err := s.DeleteRange(c.lowest, c.highest); err != nil {
				t.Fatal(err)
			}
			s.mustHold(t, c.first, c.last)
		})
	}
}

func TestStoreKeepsEverythingAcrossReopening(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		s.StoreLogs(entries(1, 100)), s.SetUint64([]byte("CurrentTerm"), 7), s.Set([]byte("LastVoteCand"), []byte("b")),
		s.close(),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	s, err = openStore(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close() //nolint:errcheck
	s.mustHold(t, 1, 100)
	if term, err := s.GetUint64([]byte("CurrentTerm")); err != nil || term != 7 {
		t.Errorf("term %d: %v", term, err)
	}
	if vote, err := s.Get([]byte("LastVoteCand")); err != nil || string(vote) != "b" {
		t.Errorf("vote %q: %v", vote, err)
	}
	if again, err := s.identity(); err != nil || again.serverID() != id.serverID() {
		t.Errorf("identity %+v: %v", again, err)
	}
}

func TestBootstrapHappensOnce(t *testing.T) {
	s := newStore(t)
	id, err := s.identity()
	if err != nil {
		t.Fatal(err)
	}
	id.Cluster = "c"
	servers := raft.Configuration{Servers: []raft.Server{{ID: "a#1", Address: "h:1"}}}
	if err := s.bootstrap(id, servers); err != nil {
		t.Fatal(err)
	}
	if err := s.bootstrap(id, servers); !errors.Is(err, raft.ErrCantBootstrap) {
		t.Fatalf("second bootstrap: %v", err)
	}
	s.mustHold(t, 1, 1)
}

// damaged makes a store with a log, closes it and lets damage change its bytes.
func damaged(t *testing.T, damage func(b []byte) []byte) (dir string, broken []byte) {
	t.Helper()
	dir = t.TempDir()
	s, err := openStore(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := s.identity()
	id.Cluster = "c"
	if err := s.bootstrap(id, raft.Configuration{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.StoreLogs(entries(2, 2000)), s.close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, storeFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken = damage(whole)
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, broken
}

func TestDamagedStoreIsRefusedAndNotChanged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"emptied":           func([]byte) []byte { return nil },
		"cut in the header": func(b []byte) []byte { return b[:100] },
		"cut in the middle": func(b []byte) []byte { return b[:64<<10] },
		"zeroed":            func(b []byte) []byte { return make([]byte, len(b)) },
		"headers zeroed":    func(b []byte) []byte { clear(b[:8192]); return b },
		"identity flipped":  func(b []byte) []byte { flipAll(b, `"incarnation":"`); return b },
		"entry flipped":     func(b []byte) []byte { flipAll(b, "entry 1500"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			dir, broken := damaged(t, damage)
			cfg := config(t, "a")
			cfg.DataDir, cfg.Listener = dir, listen(t)
			m, err := Open(cfg, &journal{})
			if err == nil {
				_ = m.Close(t.Context())
				t.Fatal("opened a damaged store")
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, want ErrCorrupt", err)
			}
			t.Log(err)
			if now, _ := os.ReadFile(filepath.Join(dir, storeFile)); !bytes.Equal(now, broken) {
				t.Error("the refused file was changed")
			}
			_ = cfg.Listener.Close()
		})
	}
}

// flipAll changes one bit right after each occurrence of text.
func flipAll(b []byte, text string) {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(text))
		if i < 0 {
			return
		}
		at += i + len(text)
		b[at-1] ^= 1
	}
}

func TestMissingStoreBesideSnapshotsIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, snapshotsDir, "1-2-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir, "a"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "is gone") {
		t.Fatalf("error %v", err)
	}
}

func TestUnfinishedSnapshotsAreReaped(t *testing.T) {
	cfg := config(t, "solo")
	unfinished := filepath.Join(cfg.DataDir, snapshotsDir, "1-2-3.tmp")
	if err := os.MkdirAll(unfinished, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, cfg)
	if _, err := os.Stat(unfinished); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unfinished snapshot is still there: %v", err)
	}
}

func TestUnreadableSnapshotIsRefused(t *testing.T) {
	cfg := config(t, "solo")
	n := open(t, cfg)
	n.awaitReady(ReadyOK)
	n.propose("x")
	if err := n.raft.Load().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	n.close()
	states, err := filepath.Glob(filepath.Join(cfg.DataDir, snapshotsDir, "*", "state.bin"))
	if err != nil || len(states) != 1 {
		t.Fatalf("snapshots %v: %v", states, err)
	}
	if err := os.WriteFile(states[0], []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.reopen(); err == nil {
		t.Error("opened with a damaged snapshot")
	} else {
		t.Log(err)
	}
	n.Member = nil
}

func BenchmarkDeleteRange(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		b.StopTimer()
		s := newStore(b)
		for i := uint64(1); i < n; i += 1000 {
			if err := s.StoreLogs(entries(i, i+999)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := s.DeleteRange(1, n-10); err != nil {
			b.Fatal(err)
		}
	}
}
