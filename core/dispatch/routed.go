package dispatch

import (
	"context"
	"sync"
)

// routed is how far the router has looked: of every view up to its index, sessions were
// told what it says.
type routed struct {
	mu    sync.Mutex
	index uint64        // guarded by mu
	moved chan struct{} // guarded by mu; closed when index is replaced
}

func newRouted() *routed { return &routed{moved: make(chan struct{})} }

// reach notes that the view of an index was looked at.
func (r *routed) reach(index uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if index == r.index {
		return
	}
	r.index = index
	close(r.moved)
	r.moved = make(chan struct{})
}

// await returns once the router has looked at an index, ctx is done or the tenure over.
func (r *routed) await(ctx context.Context, index uint64, over <-chan struct{}) error {
	for {
		r.mu.Lock()
		reached, moved := r.index >= index, r.moved
		r.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return errNotLeading()
		}
	}
}
