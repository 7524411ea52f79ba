package state

import (
	"bytes"
	"testing"
	"time"
)

// logEntry is an entry as Raft keeps it.
type logEntry struct {
	at       time.Time
	commands [][]byte
}

// randomLog makes a log of meaningful random commands by applying each entry as it is
// made. It returns the log and the state after it.
func randomLog(t *testing.T, entries int) ([]logEntry, *Store) {
	source := newRandom(t)
	s := New()
	log := make([]logEntry, 0, entries)
	at := start
	for index := range uint64(entries) {
		at = at.Add(time.Duration(source.IntN(3000)-300) * time.Millisecond) // clocks differ
		entry := logEntry{at: at, commands: encode(t, source.entry(t, s.View())...)}
		if _, err := s.Apply(index+1, entry.at, entry.commands); err != nil {
			t.Fatal(err)
		}
		log = append(log, entry)
	}
	return log, s
}

func replay(t *testing.T, s *Store, from int, log []logEntry) {
	t.Helper()
	for i, entry := range log {
		if _, err := s.Apply(uint64(from+i+1), entry.at, entry.commands); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEqualLogsGiveEqualBytes(t *testing.T) {
	log, first := randomLog(t, 2000)
	second := New()
	replay(t, second, 0, log)
	if !bytes.Equal(snapshot(t, first), snapshot(t, second)) {
		t.Error("two replicas of one log differ")
	}
}

func TestSnapshotHalfWayMakesNoDifference(t *testing.T) {
	log, straight := randomLog(t, 2000)
	half := len(log) / 2
	leader := New()
	replay(t, leader, 0, log[:half])
	follower := New()
	if err := follower.Restore(bytes.NewReader(snapshot(t, leader))); err != nil {
		t.Fatal(err)
	}
	replay(t, follower, half, log[half:])
	if !bytes.Equal(snapshot(t, straight), snapshot(t, follower)) {
		t.Error("a replica that started from a snapshot differs")
	}
	if straight.View().NextJob() < 1000 {
		t.Errorf("the log submitted %d jobs only: it proves little", straight.View().NextJob()-1)
	}
}

func TestReplayOfWhatTheSnapshotHasChangesNothing(t *testing.T) {
	log, s := randomLog(t, 200)
	restored := New()
	if err := restored.Restore(bytes.NewReader(snapshot(t, s))); err != nil {
		t.Fatal(err)
	}
	replay(t, restored, 0, log)
	if !bytes.Equal(snapshot(t, s), snapshot(t, restored)) {
		t.Error("entries were applied twice")
	}
}
