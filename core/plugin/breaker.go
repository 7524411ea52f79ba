package plugin

import (
	"sync"
	"time"
)

// breaker counts strikes. It opens when so many fall within a window and stays open
// until somebody resets it.
type breaker struct {
	strikes int
	window  time.Duration
	now     func() time.Time

	mu     sync.Mutex
	recent []time.Time // guarded by mu; the last strikes, at most as many as open it
	open   bool        // guarded by mu
}

func newBreaker(limits Limits) *breaker {
	return &breaker{strikes: limits.Strikes, window: limits.Window, now: time.Now}
}

// strike counts one and reports whether it opened the breaker.
func (b *breaker) strike() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.recent = append(b.recent, now)
	if len(b.recent) > b.strikes {
		b.recent = b.recent[1:]
	}
	if b.open || len(b.recent) < b.strikes || now.Sub(b.recent[0]) > b.window {
		return false
	}
	b.open = true
	return true
}

func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.recent = false, nil
}
