package consensus

import (
	"sync"
	"time"
)

// watch knows which operations on the disk and on the state machine are under way and
// since when. In hashicorp/raft a leader whose store or state machine hangs goes on
// sending heartbeats, and no public call tells: only the wrappers that feed this do.
type watch struct {
	life *mortality
	now  func() time.Time

	mu       sync.Mutex
	next     uint64               // guarded by mu
	running  map[uint64]operation // guarded by mu
	restores int                  // guarded by mu; state machine restores under way
	received time.Time            // guarded by mu; last progress of a snapshot's bytes
}

// operation is one call into a store or the state machine.
type operation struct {
	kind  string // the death it causes by not returning
	name  string
	since time.Time
}

func newWatch(life *mortality, now func() time.Time) *watch {
	return &watch{life: life, now: now, running: make(map[uint64]operation)}
}

// begin notes an operation; the returned function ends it.
func (w *watch) begin(kind, name string) (since time.Time, end func()) {
	since = w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	key := w.next
	w.running[key] = operation{kind: kind, name: name, since: since}
	return since, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, key)
	}
}

// oldest returns the operation that has been running longest.
func (w *watch) oldest() (oldest operation, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range w.running {
		if !found || op.since.Before(oldest.since) {
			oldest, found = op, true
		}
	}
	return oldest, found
}

// restoring notes that the state machine takes on a snapshot, which may take long and
// holds up Raft's main loop while it does.
func (w *watch) restoring() (since time.Time, end func()) {
	since = w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restores++
	return since, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.restores--
	}
}

// isRestoring reports whether the state machine takes on a snapshot.
func (w *watch) isRestoring() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restores > 0
}

// progressed notes that bytes of a snapshot moved.
func (w *watch) progressed() {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received = now
}

// progressing reports whether bytes of a snapshot moved within the last limit: receiving
// one holds up the main loop too.
func (w *watch) progressing(limit time.Duration) bool {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Sub(w.received) < limit
}
