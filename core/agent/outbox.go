package agent

import (
	"sync"
	"time"

	"github.com/rowelhq/rowel/core"
)

// maxReports bounds one JobReports message.
const maxReports = 512

// outbox keeps the ends of jobs until they are acknowledged. It is level-triggered: an
// end goes out on every new stream, and again on the same one if no answer comes.
type outbox struct {
	mu      sync.Mutex // guards pending and unsent
	pending map[jobKey]*pendingReport
	unsent  []jobKey // oldest first; may name reports acknowledged since

	wake    chan struct{} // holds a token while something may be unsent
	drained chan struct{} // holds a token after an acknowledgement left nothing
}

type pendingReport struct {
	report core.JobReport
	sentAt time.Time // zero: not sent on this stream
}

func newOutbox() *outbox {
	return &outbox{
		pending: map[jobKey]*pendingReport{},
		wake:    make(chan struct{}, 1),
		drained: make(chan struct{}, 1),
	}
}

func (o *outbox) add(report core.JobReport) {
	key := reportKey(report)
	o.mu.Lock()
	o.pending[key] = &pendingReport{report: report}
	o.unsent = append(o.unsent, key)
	o.mu.Unlock()
	raise(o.wake)
}

// take returns up to maxReports reports that are due and marks them as sent at now.
// What ends together goes out together.
func (o *outbox) take(now time.Time) []core.JobReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	var due []core.JobReport
	for len(o.unsent) > 0 && len(due) < maxReports {
		key := o.unsent[0]
		o.unsent = o.unsent[1:]
		if entry, ok := o.pending[key]; ok && entry.sentAt.IsZero() {
			entry.sentAt = now
			due = append(due, entry.report)
		}
	}
	if len(o.unsent) > 0 {
		raise(o.wake)
	}
	return due
}

// resend makes every report due that was sent before the given time.
func (o *outbox) resend(before time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, entry := range o.pending {
		if !entry.sentAt.IsZero() && entry.sentAt.Before(before) {
			entry.sentAt = time.Time{}
			o.unsent = append(o.unsent, key)
		}
	}
	if len(o.unsent) > 0 {
		raise(o.wake)
	}
}

// acknowledge drops a report and tells whether there was one.
func (o *outbox) acknowledge(key jobKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.pending[key]
	delete(o.pending, key)
	if known && len(o.pending) == 0 {
		raise(o.drained)
	}
	return known
}

// keys returns the attempts whose end is not acknowledged.
func (o *outbox) keys() []jobKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	keys := make([]jobKey, 0, len(o.pending))
	for key := range o.pending {
		keys = append(keys, key)
	}
	return keys
}

func (o *outbox) holds(key jobKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending[key] != nil
}

func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) == 0
}

// raise leaves a token in a channel of capacity one.
func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
