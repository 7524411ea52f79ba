package supervisor

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
)

// What a dying process may take for each step; together they stay below one second.
const (
	calloutTime = 200 * time.Millisecond
	logTime     = 300 * time.Millisecond
)

// deathMessage is the one line that is logged when a process ends because of its core,
// by the process itself or by its Guard.
const deathMessage = "the core is dead"

// Death says why the core can never work again in this process.
type Death struct {
	Kind  string    // one word, such as "log-store" or "state-machine"
	Cause error     // what was seen first
	Since time.Time // when it happened, as well as that is known
}

// DeathWatch ends the process when its core dies. Every function may be nil, except
// Exit; each runs bounded in a goroutine of its own, so that one that hangs or panics
// holds up nothing.
type DeathWatch struct {
	Logger hclog.Logger

	// FailProbes makes /livez and /readyz answer 503. It is called first.
	FailProbes func(Death)
	// RefuseRequests makes the API answer Unavailable with the reason, and closes the
	// streams of agents so that they go elsewhere. It is called second.
	RefuseRequests func(Death)
	// Facts gives pairs for the log line: last applied and commit index, term.
	Facts func() []any

	// Code is the exit code and Exit is os.Exit, or what stands for it in a test.
	Code int
	Exit func(code int)
}

// Run waits for a death and calls Exit within one second of it. It returns when ctx is
// done or the channel is closed first, or when Exit returns.
//
// It does not stop parts: what a dead core has not acknowledged is not for this process
// to save, and a stop might hang. So it is no part itself: run it in a goroutine beside
// Supervisor.Run, and let no part fail only because the core has died, or the process
// might end with another code first.
func (w DeathWatch) Run(ctx context.Context, died <-chan Death) {
	select {
	case <-ctx.Done():
		// A core may die of being stopped; a death that came first still counts.
		select {
		case death, open := <-died:
			if open {
				w.end(death)
			}
		default:
		}
	case death, open := <-died:
		if open {
			w.end(death)
		}
	}
}

// end does what a death asks for, in order, and then exits whatever came of it.
func (w DeathWatch) end(death Death) {
	noticed := time.Now()
	if w.FailProbes != nil {
		bounded(calloutTime, func() { w.FailProbes(death) })
	}
	if w.RefuseRequests != nil {
		bounded(calloutTime, func() { w.RefuseRequests(death) })
	}
	facts := []any{"kind", death.Kind, "error", death.Cause}
	if !death.Since.IsZero() {
		facts = append(facts, "noticed_after", noticed.Sub(death.Since))
	}
	if w.Facts != nil {
		found := make(chan []any, 1)
		bounded(calloutTime, func() { found <- w.Facts() })
		select {
		case more := <-found:
			facts = append(facts, more...)
		default:
			facts = append(facts, "facts", "not available in time")
		}
	}
	// Standard error may be a pipe that nobody reads.
	bounded(logTime, func() { w.Logger.Error(deathMessage, facts...) })
	w.Exit(w.Code)
}

// bounded runs f and waits for it, but no longer than limit. A panic ends f alone: the
// process is ending already, with a better reason.
func bounded(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
