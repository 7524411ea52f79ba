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

// keepLinked keeps a stream to the leader until ctx is done. connected tells others
// whether there is one.
func (a *Agent) keepLinked(ctx context.Context, connected *atomic.Bool) {
	var (
		next      int           // in cfg.Controllers
		leader    string        // named by the last one asked
		redirects int           // followed since the last pause
		pause     time.Duration // the bound of the next one
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
		a.logLoss(address, welcomed, err)
		leader = ""
		if welcomed && time.Since(began) > a.pace.steady {
			pause, redirects = 0, 0
		}
		var elsewhere *NotLeaderError
		if errors.As(err, &elsewhere) && elsewhere.Leader != "" {
			leader = elsewhere.Leader
			if redirects < maxRedirects {
				redirects++
				continue
			}
		}
		redirects = 0
		pause = min(max(2*pause, a.pace.backoffMin), a.pace.backoffMax)
		if !sleep(ctx, rand.N(pause)) {
			return
		}
	}
}

func (a *Agent) logLoss(address string, welcomed bool, err error) {
	if welcomed {
		a.logger.Warn("lost the leader, jobs run on", "addr", address, "error", err)
	} else {
		a.logger.Debug("no stream to a leader", "addr", address, "error", err)
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
