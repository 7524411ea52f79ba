package consensus

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// The words that Ready answers.
const (
	ReadyOK         = "ok"
	ReadyDead       = "dead"        // see Death
	ReadyStopping   = "stopping"    // Close was called
	ReadyJoining    = "joining"     // the store belongs to no cluster yet
	ReadyRemoved    = "removed"     // the cluster's configuration does not have this server
	ReadyRestoring  = "restoring"   // the state machine takes on a snapshot
	ReadyStalled    = "stalled"     // the store, the state machine or Raft's main loop hangs
	ReadyNoLeader   = "no-leader"   // none is known, or a leader has not confirmed itself
	ReadyCatchingUp = "catching-up" // entries committed before the start are not applied yet
)

// Ready reports whether this member can serve requests, itself or through the leader,
// and the word that says why not. It reads memory only and never blocks.
func (m *Member) Ready() (word string, ok bool) {
	switch {
	case m.life.isDead():
		word = ReadyDead
	case m.stopping.Load():
		word = ReadyStopping
	default:
		word = *m.monitor.word.Load()
	}
	return word, word == ReadyOK
}

// judge finds the word. Only the monitor's run goroutine calls it.
func (mon *monitor) judge(r *raft.Raft, l Leadership) string {
	m := mon.member
	switch {
	case m.life.isDead():
		return ReadyDead
	case m.watch.isRestoring():
		return ReadyRestoring
	case r == nil:
		return ReadyJoining
	case mon.judgeStall(r):
		return ReadyStalled
	case isRemoved(r, m.ServerID()):
		return ReadyRemoved
	case !mon.hasLeader(r, l):
		return ReadyNoLeader
	case !mon.hasCaughtUp(r, l):
		return ReadyCatchingUp
	}
	return ReadyOK
}

// judgeStall reports a stall; a leader that stalls tries to give leadership away, which
// helps while its main loop still turns.
func (mon *monitor) judgeStall(r *raft.Raft) bool {
	m := mon.member
	stalled := mon.isStalled()
	if stalled && !mon.stalled && r.State() == raft.Leader {
		m.wg.Go(func() {
			ctx, cancel := context.WithTimeout(m.ctx, m.cfg.Timing.Stall)
			defer cancel()
			if err := m.TransferLeadership(ctx); err != nil {
				m.logger.Warn("cannot give leadership away while stalled", "error", err)
			}
		})
	}
	mon.stalled = stalled
	return stalled
}

// isRemoved reports whether there is a configuration and this server is not in it.
func isRemoved(r *raft.Raft, self string) bool {
	servers := r.GetConfiguration().Configuration().Servers
	for _, s := range servers {
		if string(s.ID) == self {
			return false
		}
	}
	return len(servers) > 0
}

// hasLeader reports whether requests can reach a leader. A leader must be established,
// and its lease ends it when the quorum is silent. A follower stays ready for a grace
// when it loses its leader: all followers lose it at the same moment, and a service
// whose every endpoint is unready drops requests that would only have had to wait.
func (mon *monitor) hasLeader(r *raft.Raft, l Leadership) bool {
	if r.State() == raft.Leader {
		mon.followed = time.Time{} // no grace for a leader that steps down
		return l.Leading
	}
	now, timing := time.Now(), mon.member.cfg.Timing
	if l.LeaderID != "" && now.Sub(r.LastContact()) < 3*timing.Heartbeat {
		mon.followed = now
	}
	return !mon.followed.IsZero() && now.Sub(mon.followed) < timing.LeaderGrace
}

// hasCaughtUp reports whether the state machine has ever held what was committed when
// this member first heard of a leader.
func (mon *monitor) hasCaughtUp(r *raft.Raft, l Leadership) bool {
	if mon.caughtUp {
		return true
	}
	p := mon.member.progress
	if mon.target == 0 {
		mon.target = p.leaderCommit()
		if l.Leading {
			mon.target = r.CommitIndex()
		}
	}
	mon.caughtUp = mon.target > 0 && r.CommitIndex() >= mon.target && p.applied(mon.target) >= mon.target
	return mon.caughtUp
}
