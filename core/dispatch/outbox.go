package dispatch

import (
	"sync"

	"github.com/rowelhq/rowel/core/wire"
)

// maxOutbox bounds what waits to be sent to one agent: more than any node runs at once.
const maxOutbox = 16_384

// outbox is what waits to be sent to one agent, in order. Whoever fills it never waits.
type outbox struct {
	ready chan struct{} // holds a token while something may wait

	mu      sync.Mutex
	waiting []*wire.ControllerMessage // guarded by mu
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// push adds a message and reports whether there was room.
func (o *outbox) push(message *wire.ControllerMessage) bool {
	o.mu.Lock()
	full := len(o.waiting) >= maxOutbox
	if !full {
		o.waiting = append(o.waiting, message)
	}
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return !full
}

// take returns all that waits.
func (o *outbox) take() []*wire.ControllerMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	messages := o.waiting
	o.waiting = nil
	return messages
}
