package consensus

import (
	"sync"

	"github.com/hashicorp/raft"
)

// Leadership is who leads, as this member knows it.
type Leadership struct {
	Leading       bool   // this member leads and has applied all that its predecessors committed
	LeaderID      string // name#incarnation; empty when no leader is known
	LeaderName    string
	LeaderAddress string // of its Raft port
	Term          uint64
}

// board publishes the current Leadership.
type board struct {
	mu      sync.Mutex
	current Leadership    // guarded by mu
	changed chan struct{} // guarded by mu; closed when current is replaced
}

func newBoard() *board { return &board{changed: make(chan struct{})} }

// Leadership returns who leads and a channel that closes when that changes. It trails
// Raft by some milliseconds; a member that died or was closed leads no longer.
func (m *Member) Leadership() (Leadership, <-chan struct{}) {
	b := m.monitor.board
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current, b.changed
}

// publish replaces the current value if it differs.
func (b *board) publish(l Leadership) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l == b.current {
		return false
	}
	b.current = l
	close(b.changed)
	b.changed = make(chan struct{})
	return true
}

// leads reports whether this member may act as leader: it is one, and holds everything
// that was committed before it became it.
func (m *Member) leads(r *raft.Raft) bool {
	return r.State() == raft.Leader && m.progress.established(r.CurrentTerm(), r.CommitIndex())
}

// look reads the leadership off raft.
func (m *Member) look(r *raft.Raft) Leadership {
	if r == nil || m.stopping.Load() || m.life.isDead() {
		return Leadership{}
	}
	address, id := r.LeaderWithID()
	return Leadership{
		Leading:  m.leads(r),
		LeaderID: string(id), LeaderName: nameOf(string(id)), LeaderAddress: string(address),
		Term: r.CurrentTerm(),
	}
}
