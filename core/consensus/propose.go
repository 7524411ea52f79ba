package consensus

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

// Bounds of the way in.
const (
	maxQueued       = 8192    // proposals that wait
	maxBatch        = 1024    // commands in one entry
	maxBatchBytes   = 1 << 20 // of commands in one entry, unless one is larger by itself
	maxCommandBytes = 16 << 20
	maxInFlight     = 2 // entries between collecting and their results
)

// Propose replicates a command and returns what the state machine made of it, which is
// the error if the result is one. It blocks until a majority has the command on disk
// and it is applied here, or ctx is done. Errors by kind: NotLeader and Unavailable,
// not done; Exhausted, not done, too many wait or the command is too large; Unknown,
// maybe done: propose it again with the same request key. A command's own refusal has
// the kind that the state machine gave it.
func (m *Member) Propose(ctx context.Context, command core.Command) (core.Result, error) {
	if err := m.usable(); err != nil {
		return nil, err
	}
	if m.raftState() != raft.Leader {
		return nil, m.notLeader()
	}
	data, err := m.cfg.Encode(command)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "encode %T: %w", command, err)
	}
	if len(data) > maxCommandBytes {
		return nil, core.Errorf(core.Exhausted, "%T has %d bytes, the limit is %d", command, len(data), maxCommandBytes)
	}
	p := &proposal{ctx: ctx, data: data, outcome: make(chan outcome, 1)}
	if !m.proposer.enqueue(p) {
		if err := m.usable(); err != nil {
			return nil, err
		}
		return nil, core.Errorf(core.Exhausted, "%d commands wait already: slow down and try again", maxQueued)
	}
	return m.await(p)
}

// await returns the proposal's outcome, or why nobody waits for it any longer.
func (m *Member) await(p *proposal) (core.Result, error) {
	var cause error
	select {
	case o := <-p.outcome:
		return o.unpack()
	case <-p.ctx.Done():
		cause = p.ctx.Err()
	case <-m.life.dead:
		cause = m.usable()
	}
	if p.withdraw() {
		return nil, core.Errorf(core.Unavailable, "command was not replicated: %w", cause)
	}
	select { // the outcome may have come at the same moment
	case o := <-p.outcome:
		return o.unpack()
	default:
		return nil, unknown(cause)
	}
}

// usable returns the reason why this member serves nobody, if there is one.
func (m *Member) usable() error {
	if death, dead := m.Death(); dead {
		return core.Errorf(core.Unavailable, "this server's raft core is dead (%s): %w", death.Kind, death.Cause)
	}
	if m.stopping.Load() {
		return core.Errorf(core.Unavailable, "this server is stopping")
	}
	return nil
}

// gone is usable for a member that is known not to be.
func (m *Member) gone() error {
	if err := m.usable(); err != nil {
		return err
	}
	return core.Errorf(core.Unavailable, "this server is stopping")
}

// notLeader says whom to ask instead.
func (m *Member) notLeader() error {
	r := m.raft.Load()
	if r == nil {
		return core.Errorf(core.Unavailable, "this server has not joined a cluster yet: %s", m.monitor.waitsFor())
	}
	address, id := r.LeaderWithID()
	if id == "" || string(id) == m.ServerID() {
		return core.Errorf(core.NotLeader, "this server is not the leader, and none is known yet")
	}
	return core.Errorf(core.NotLeader, "this server is not the leader: ask %s at %s", nameOf(string(id)), address)
}

// raftState returns raft's state, Follower before there is one.
func (m *Member) raftState() raft.RaftState {
	if r := m.raft.Load(); r != nil {
		return r.State()
	}
	return raft.Follower
}

// explain gives an error of raft the kind that tells a caller what to do.
func (m *Member) explain(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return m.notLeader()
	case errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrRaftShutdown):
		return core.Errorf(core.Unavailable, "command was not replicated: %w", err)
	default:
		return unknown(err)
	}
}

func unknown(cause error) error {
	return core.Errorf(core.Unknown, "command may have been applied, retry with the same request key: %w", cause)
}

// TransferLeadership hands leadership to the most advanced other voter and returns when
// this member no longer leads. Conflict: it does not lead, or is the only voter.
func (m *Member) TransferLeadership(ctx context.Context) error {
	r := m.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return core.Errorf(core.Conflict, "transfer leadership: %w", m.notLeader())
	}
	if !hasOtherVoter(r.GetConfiguration().Configuration(), m.ServerID()) {
		return core.Errorf(core.Conflict, "transfer leadership: this server is the only voter")
	}
	done := make(chan error, 1)
	go func() { done <- r.LeadershipTransfer().Error() }() // ends with raft at the latest
	select {
	case err := <-done:
		if err != nil {
			return core.Errorf(core.Unavailable, "transfer leadership: %w", err)
		}
		return nil
	case <-ctx.Done():
		return core.Errorf(core.Unavailable, "transfer leadership: %w", ctx.Err())
	}
}

func hasOtherVoter(c raft.Configuration, self string) bool {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter && string(s.ID) != self {
			return true
		}
	}
	return false
}

// establishPoll is how often the proposer of a new leader looks whether it may stamp.
const establishPoll = 2 * time.Millisecond
