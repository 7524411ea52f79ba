package consensus

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

// reads shares confirmations of leadership between callers of Barrier (Raft
// dissertation, 6.4): one round of heartbeats serves everybody who asked before it
// began.
type reads struct {
	member *Member

	mu      sync.Mutex
	next    *round // guarded by mu; gathers callers, nil if nobody asked
	running bool   // guarded by mu; a round is under way
}

// round is one confirmation of leadership.
type round struct {
	done   chan struct{} // closed when the fields below are set
	commit uint64        // everything committed before the round began
	err    error
}

func newReads(m *Member) *reads { return &reads{member: m} }

// Barrier returns when the state machine holds everything that was committed anywhere
// before the call: what is read from it then is linearizable. It needs leadership, which
// a quorum confirms, and no write to disk. Errors: NotLeader, Unavailable.
func (m *Member) Barrier(ctx context.Context) error {
	if err := m.usable(); err != nil {
		return err
	}
	if m.raftState() != raft.Leader {
		return m.notLeader()
	}
	r := m.reads.join()
	if err := m.waitFor(ctx, r.done); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	return m.waitFor(ctx, m.progress.wait(r.commit))
}

// waitFor waits for done, for ctx, or for the member to end.
func (m *Member) waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return core.Errorf(core.Unavailable, "confirm leadership: %w", ctx.Err())
	case <-m.life.dead:
		return m.gone()
	case <-m.ctx.Done():
		return m.gone()
	}
}

// join returns the round that begins next.
func (r *reads) join() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	joined := r.next
	if !r.running {
		r.running = true
		go r.run() // ends when nobody asks; at the latest with raft
	}
	return joined
}

// run serves rounds until nobody has asked for another.
func (r *reads) run() {
	for {
		r.mu.Lock()
		current := r.next
		r.next = nil
		r.running = current != nil
		r.mu.Unlock()
		if current == nil {
			return
		}
		current.commit, current.err = r.member.confirm()
		close(current.done)
	}
}

// confirm returns the commit index as of now if this member still leads.
func (m *Member) confirm() (commit uint64, err error) {
	node := m.raft.Load()
	if err := m.proposer.awaitEstablished(node); err != nil {
		return 0, err
	}
	commit = node.CommitIndex()
	if err := node.VerifyLeader().Error(); errors.Is(err, raft.ErrRaftShutdown) {
		return 0, m.gone()
	} else if err != nil {
		return 0, m.notLeader()
	}
	return commit, nil
}
