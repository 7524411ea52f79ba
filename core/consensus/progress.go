package consensus

import (
	"sync"

	"github.com/hashicorp/raft"
)

// progress knows how far the state machine is. Raft's own AppliedIndex counts entries
// that were queued for the machine, which is no answer when the machine hangs; and the
// machine is never shown no-ops and barriers, so its own last index can trail a commit
// index for ever. progress keeps both: what was delivered, and which indexes never are.
type progress struct {
	mu        sync.Mutex
	delivered uint64            // guarded by mu; the last entry the machine has applied
	silent    map[uint64]uint64 // guarded by mu; index -> term of stored entries above delivered that are not delivered
	noopTerm  uint64            // guarded by mu; the term of the last no-op stored
	noopIndex uint64            // guarded by mu
	waiters   []waiter          // guarded by mu
	leader    uint64            // guarded by mu; the highest commit index heard from a leader
}

type waiter struct {
	index uint64
	done  chan struct{}
}

func newProgress() *progress { return &progress{silent: make(map[uint64]uint64)} }

// stored notes an entry that was written to the log, or read back from it.
func (p *progress) stored(entry *raft.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch entry.Type {
	case raft.LogCommand, raft.LogConfiguration:
		delete(p.silent, entry.Index)
	default:
		if entry.Index > p.delivered {
			p.silent[entry.Index] = entry.Term
		}
		if entry.Type == raft.LogNoop && entry.Term >= p.noopTerm {
			p.noopTerm, p.noopIndex = entry.Term, entry.Index
		}
	}
}

// removed notes that entries left the log.
func (p *progress) removed(lowest, highest uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for index := range p.silent {
		if index >= lowest && index <= highest {
			delete(p.silent, index)
		}
	}
}

// deliver notes that the machine holds everything up to index.
func (p *progress) deliver(index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivered = index
	if len(p.silent) > 0 {
		for silent := range p.silent {
			if silent <= index {
				delete(p.silent, silent)
			}
		}
	}
	waiting := p.waiters[:0]
	for _, w := range p.waiters {
		if w.index <= index {
			close(w.done)
		} else {
			waiting = append(waiting, w)
		}
	}
	clear(p.waiters[len(waiting):])
	p.waiters = waiting
}

// applied returns the last index the machine has applied, counting those it is never
// shown, up to commit.
func (p *progress) applied(commit uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target(commit) <= p.delivered {
		return max(commit, p.delivered)
	}
	return p.delivered
}

// target is the last index at or below commit that the machine is shown. mu is held.
func (p *progress) target(commit uint64) uint64 {
	for {
		if _, silent := p.silent[commit]; !silent {
			return commit
		}
		commit--
	}
}

// wait returns a channel that closes when the machine has applied everything up to
// commit. A waiter that gives up is kept until then: the bound is the caller's.
func (p *progress) wait(commit uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := make(chan struct{})
	target := p.target(commit)
	if target <= p.delivered {
		close(done)
		return done
	}
	p.waiters = append(p.waiters, waiter{index: target, done: done})
	return done
}

// established reports whether the leader of term has committed an entry of its own, and
// with it everything its predecessors did (Raft dissertation, 6.4), and the machine has
// applied all of that.
func (p *progress) established(term, commit uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noopTerm == term && p.noopIndex <= commit && p.target(p.noopIndex) <= p.delivered
}

// heard notes the commit index in a leader's message: a follower that lags learns its
// own commit index only as far as its log goes.
func (p *progress) heard(commit uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = max(p.leader, commit)
}

// leaderCommit returns the highest commit index heard from a leader, 0 for none.
func (p *progress) leaderCommit() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leader
}
