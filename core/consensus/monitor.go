package consensus

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	pingEvery = 200 * time.Millisecond // of the main loop
	fileEvery = 250 * time.Millisecond // looks at the store's file
)

// monitor watches the member. Its run goroutine never touches the disk, Raft's main loop
// or the machine, so that it notices when one of them hangs; what may block is done by
// goroutines of their own, whose silence it measures.
type monitor struct {
	member *Member
	board  *board
	wake   chan raft.Observation // Raft changed state or leader; may overflow, ticks make up for it

	word   atomic.Pointer[string]    // what Ready answers
	waits  atomic.Pointer[string]    // for whom the member waits, "" for nobody
	pinged atomic.Pointer[time.Time] // when the unanswered ping was sent, nil for none

	looked time.Time // the last look; only run
	awake  time.Time // since when this process has not been stopped; only run

	target   uint64    // commit index to reach after the start; only run
	caughtUp bool      // only run
	followed time.Time // when a leader was last followed; only run
	stalled  bool      // only run
}

func newMonitor(m *Member) *monitor {
	mon := &monitor{member: m, board: newBoard(), wake: make(chan raft.Observation, 16)}
	mon.setWord(ReadyJoining)
	mon.waitFor("")
	return mon
}

// attach begins to watch raft.
func (mon *monitor) attach(r *raft.Raft) {
	r.RegisterObserver(raft.NewObserver(mon.wake, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation:
			return true
		}
		return false
	}))
	mon.member.wg.Go(func() { mon.ping(r) })
	if mon.member.parts.replaced != nil {
		mon.member.wg.Go(mon.watchFile)
	}
}

// run looks at everything on each tick and whenever Raft changes, until the member
// closes.
func (mon *monitor) run() {
	m := mon.member
	ticker := time.NewTicker(m.cfg.inject.tick)
	defer ticker.Stop()
	for {
		mon.look()
		select {
		case <-ticker.C:
		case <-mon.wake:
		case <-m.life.dead:
			mon.board.publish(Leadership{})
			mon.setWord(ReadyDead)
			return
		case <-m.ctx.Done():
			mon.board.publish(Leadership{})
			return
		}
	}
}

func (mon *monitor) look() {
	m := mon.member
	r := m.raft.Load()
	mon.checkDeath(r)
	l := m.look(r)
	if mon.board.publish(l) {
		m.logger.Info("leadership changed", "leader", l.LeaderName, "addr", l.LeaderAddress, "term", l.Term, "leading", l.Leading)
	}
	if word := mon.judge(r, l); word != mon.setWord(word) {
		m.logger.Info("readiness changed", "ready", word)
	}
}

// checkDeath declares the member dead if something takes too long.
func (mon *monitor) checkDeath(r *raft.Raft) {
	m := mon.member
	now, limit := time.Now(), m.cfg.Timing.Stall
	mon.noticePause(now)
	if r != nil && r.State() == raft.Shutdown && !m.stopping.Load() {
		m.life.die(DeathRaftStopped, fmt.Errorf("raft shut down by itself"), now)
		return
	}
	if op, running := m.watch.oldest(); running && mon.age(now, op.since) > limit {
		m.life.die(op.kind, fmt.Errorf("%s has not returned for %s", op.name, now.Sub(op.since).Round(time.Millisecond)), op.since)
		return
	}
	if sent := mon.pinged.Load(); sent != nil && mon.age(now, *sent) > limit && !mon.isReceiving(limit) {
		m.life.die(DeathStalledMainLoop, fmt.Errorf("raft's main loop has not answered for %s", now.Sub(*sent).Round(time.Millisecond)), *sent)
	}
}

// noticePause finds out that the process itself stood still, by SIGSTOP or on a starved
// machine: what seems to hang then only waits its turn, and gets its time anew.
func (mon *monitor) noticePause(now time.Time) {
	if now.Sub(mon.looked) > mon.member.cfg.Timing.notice() {
		mon.awake = now
	}
	mon.looked = now
}

// age is how long something has taken of the time that this process was running.
func (mon *monitor) age(now, since time.Time) time.Duration {
	if since.Before(mon.awake) {
		since = mon.awake
	}
	return now.Sub(since)
}

// isReceiving reports whether the main loop is held up by a snapshot, as it may be.
func (mon *monitor) isReceiving(limit time.Duration) bool {
	return mon.member.watch.isRestoring() || mon.member.watch.progressing(limit)
}

// isStalled reports whether something has been hanging for long enough to say so.
func (mon *monitor) isStalled() bool {
	m := mon.member
	now, notice := time.Now(), m.cfg.Timing.notice()
	if op, running := m.watch.oldest(); running && mon.age(now, op.since) > notice {
		return true
	}
	sent := mon.pinged.Load()
	return sent != nil && mon.age(now, *sent) > notice && !mon.isReceiving(notice)
}

// ping asks the main loop for an answer again and again. To bootstrap the empty
// configuration is refused in every state, without disk or quorum, so any answer proves
// that the loop turns; GetConfiguration, which reads a copy, proves nothing.
func (mon *monitor) ping(r *raft.Raft) {
	for mon.member.ctx.Err() == nil {
		sent := time.Now()
		mon.pinged.Store(&sent)
		answered := make(chan struct{})
		go func() { // ends with raft, or with a main loop that hangs
			_ = r.BootstrapCluster(raft.Configuration{}).Error()
			close(answered)
		}()
		select {
		case <-answered:
		case <-mon.member.ctx.Done():
			return
		}
		mon.pinged.Store(nil)
		pause(mon.member.ctx, pingEvery)
	}
}

// watchFile notices a store whose file is not there any more: writes to it succeed and
// are gone at the next start.
func (mon *monitor) watchFile() {
	m := mon.member
	for m.ctx.Err() == nil {
		if err := m.parts.replaced(); err != nil {
			m.life.die(DeathStoreGone, fmt.Errorf("log store: %w", err), time.Now())
			return
		}
		pause(m.ctx, fileEvery)
	}
}

// setWord replaces the word and returns the one before.
func (mon *monitor) setWord(word string) (before string) {
	if old := mon.word.Swap(&word); old != nil {
		return *old
	}
	return ""
}

// waitFor sets for whom the member waits.
func (mon *monitor) waitFor(whom string) { mon.waits.Store(&whom) }

func (mon *monitor) waitsFor() string { return *mon.waits.Load() }
