package consensus

import (
	"sync"
	"time"
)

// clock gives the times that entries are stamped with: the leader's wall clock, but never
// before a time that was stamped or applied here.
type clock struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// stamp returns the time for the next entry.
func (c *clock) stamp() time.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.last) {
		c.last = now
	}
	return c.last
}

// atLeast keeps later stamps from going below at.
func (c *clock) atLeast(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.last) {
		c.last = at
	}
}
