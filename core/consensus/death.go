package consensus

import (
	"sync/atomic"
	"time"
)

// Death is why and since when a member cannot replicate any more. There is no way back:
// the process is to end and start again.
type Death struct {
	Kind  string // one of the Death constants
	Cause error
	Since time.Time // when what killed it began
}

// The kinds of death.
const (
	DeathStateMachine        = "state-machine"         // it panicked, refused an entry, or could not be restored
	DeathLogStore            = "log-store"             // reading or writing the log failed
	DeathStableStore         = "stable-store"          // reading or writing term and vote failed
	DeathSnapshotStore       = "snapshot-store"        // reading or writing a snapshot failed
	DeathStoreGone           = "store-gone"            // the store's file was removed or replaced
	DeathStalledStore        = "stalled-store"         // a read or write does not return
	DeathStalledStateMachine = "stalled-state-machine" // applying an entry does not return
	DeathStalledMainLoop     = "stalled-main-loop"     // Raft's main loop does not answer
	DeathRaftStopped         = "raft-stopped"          // Raft shut down by itself
	DeathTransport           = "transport"             // the listener failed
	DeathStart               = "start"                 // Raft could not start after the cluster had formed
)

// mortality keeps the first death. Its zero value is not usable; see newMortality.
type mortality struct {
	first atomic.Pointer[Death]
	dead  chan struct{} // closed at death
	news  chan Death    // gets it once, then is closed
	cut   func()        // stops the member from holding the cluster up
}

func newMortality(cut func()) *mortality {
	return &mortality{dead: make(chan struct{}), news: make(chan Death, 1), cut: cut}
}

// die records a death. The first one wins; later ones are its consequences.
func (m *mortality) die(kind string, cause error, since time.Time) {
	death := &Death{Kind: kind, Cause: cause, Since: since}
	if !m.first.CompareAndSwap(nil, death) {
		return
	}
	close(m.dead)
	m.cut()
	m.news <- *death
	close(m.news)
}

// isDead reports whether the member died.
func (m *mortality) isDead() bool { return m.first.Load() != nil }

// Died returns the channel that delivers the member's death, once, and is then closed.
// It has one reader, the supervisor; everyone else asks Death. Closing a member is not
// a death.
func (m *Member) Died() <-chan Death { return m.life.news }

// Death returns the member's death, if it died.
func (m *Member) Death() (Death, bool) {
	if death := m.life.first.Load(); death != nil {
		return *death, true
	}
	return Death{}, false
}
