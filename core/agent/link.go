package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// maxRedirects bounds how often one controller's word about the leader is followed
// without a pause: during an election two of them may name each other.
const maxRedirects = 2

// complaintInterval is how often an operator hears that no leader can be found.
const complaintInterval = 30 * time.Second

// keepLinked keeps a stream to the leader until ctx is done. connected tells others
// whether there is one.
func (a *Agent) keepLinked(ctx context.Context, connected *atomic.Bool) {
	var (
		next      int           // in cfg.Controllers
		leader    string        // named by the last one asked
		redirects int           // followed since the last pause
		pause     time.Duration // the bound of the next one
		complaint time.Time     // when the last was logged
	)
	for ctx.Err() == nil {
		address := leader
		if address == "" {
			address = a.cfg.Controllers[next%len(a.cfg.Controllers)]
			next++
		}
		began := time.Now()
		welcomed, err := a.converse(ctx, address, connected)
		if ctx.Err() != nil {
			return
		}
		leader = ""
		if welcomed && time.Since(began) > a.pace.steady {
			pause, redirects = 0, 0
		}
		var elsewhere *NotLeaderError
		switch {
		case errors.As(err, &elsewhere):
			leader = elsewhere.Leader
			a.logger.Debug("controller does not lead", "addr", address, "leader", leader)
		case welcomed || time.Since(complaint) > complaintInterval:
			complaint = time.Now()
			a.logger.Warn("no stream to the leader, jobs run on", "addr", address, "error", err)
		}
		if leader != "" && redirects < maxRedirects {
			redirects++
			continue
		}
		redirects = 0
		pause = min(max(2*pause, a.pace.backoffMin), a.pace.backoffMax)
		if !sleep(ctx, rand.N(pause)) {
			return
		}
	}
}

// sleep waits and tells whether it waited to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
