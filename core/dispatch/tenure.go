package dispatch

import (
	"sync"
	"time"

	"github.com/rowelhq/rowel/core"
)

// A session that was not heard for this many heartbeats is given up, or earlier if a
// newer agent wants its place.
const (
	silentHeartbeats    = 3
	supplantsHeartbeats = 2
)

// tenure is one Run: the sessions of one time of leading. A session belongs to its
// tenure for good, so that nothing of an old one can leak into the next.
type tenure struct {
	*Dispatch
	done    <-chan struct{} // closed when Run's time is over
	joining chan joining    // to the router
	reports *reports
	routed  *routed

	mu       sync.Mutex
	sessions map[string]*session // guarded by mu; by node
}

// joining is a session that has been welcomed and what its agent says it has.
type joining struct {
	session *session
	running []attempt
}

// attempt names one start of a job.
type attempt struct {
	job    core.JobID
	number uint32
}

func newTenure(d *Dispatch, done <-chan struct{}) *tenure {
	return &tenure{
		Dispatch: d,
		done:     done,
		joining:  make(chan joining),
		reports:  newReports(d.proposer, d.logger),
		routed:   newRouted(),
		sessions: make(map[string]*session),
	}
}

// admit gives a session its node's place. The same agent takes over from its own older
// stream at once. Another agent of the same name, as after a restart, gets in as soon as
// the old one has been silent; while the old one lives there are two agents with one
// name, and the newcomer is refused.
func (t *tenure) admit(s *session) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.sessions[s.node]
	if old != nil && old.agent != s.agent && !old.over() && old.silence() <= supplantsHeartbeats*t.config.Heartbeat {
		return core.Errorf(core.Conflict,
			"node %s has an agent already, at %s, heard %v ago: stop that one, or give this one another name",
			s.node, old.address, old.silence().Round(time.Millisecond))
	}
	t.sessions[s.node] = s
	if old != nil {
		old.end(core.Errorf(core.Conflict, "a newer connection of node %s took over", s.node))
	}
	return nil
}

// leave gives up a session's place, if it still has it.
func (t *tenure) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions[s.node] == s {
		delete(t.sessions, s.node)
	}
}

// session returns the session of a node, or nil.
func (t *tenure) session(node string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions[node]
}

func (t *tenure) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sessions)
}

// endAll ends every session.
func (t *tenure) endAll(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		s.end(cause)
	}
}
