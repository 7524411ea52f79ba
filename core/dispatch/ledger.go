package dispatch

import (
	"sync"

	"github.com/rowelhq/rowel/core"
)

// standing is how far an attempt has come between the controller and one agent.
type standing uint8

const (
	launched    standing = iota + 1 // the agent was told to run it, or says that it does
	terminating                     // the agent was told to end it
	reported                        // the agent said how it ended
)

// told is what was said about one attempt of a job.
type told struct {
	attempt  uint32
	standing standing
}

// ledger keeps what one agent and its controller told each other about jobs, so that
// each thing is said once in a session. Only the router adds and removes; the session
// marks what was reported, before it passes the report on: whoever then sees the job
// end in the state finds it marked.
//
// An entry stays until the state shows the attempt as over. Dropping it when the report
// is acknowledged would let a router that looks at an older view launch the job again.
type ledger struct {
	mu   sync.Mutex
	jobs map[core.JobID]told // guarded by mu
}

// of returns the standing of a job's present attempt, 0 if nothing was said about it.
func (l *ledger) of(job *core.Job) standing {
	if entry := l.entry(job.ID); entry.attempt == job.Attempt {
		return entry.standing
	}
	return 0
}

// entry returns what was said about a job, zeros if nothing was.
func (l *ledger) entry(job core.JobID) told {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[job]
}

func (l *ledger) set(job core.JobID, entry told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[job] = entry
}

func (l *ledger) remove(job core.JobID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.jobs, job)
}

// markReported notes that the agent said how an attempt ended.
func (l *ledger) markReported(a attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry, ok := l.jobs[a.job]; ok && entry.attempt == a.number {
		l.jobs[a.job] = told{a.number, reported}
	}
}
