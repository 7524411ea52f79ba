package plugin

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Why the host stops a guest in the middle of a call.
var (
	errOutOfFuel  = errors.New("out of fuel")
	errDeadline   = errors.New("the deadline is over")
	errCallerGone = errors.New("the caller gave up")
)

// The bounds of what a guest is granted at once, in units of fuel, and how long it should
// last. Fuel is worth more or less time: a grant grows while the guest is back early and
// shrinks when it is late. What is counted does not depend on it.
const (
	minGrant  = 1 << 10
	maxGrant  = 1 << 16
	grantTime = 200 * time.Microsecond
)

// tank meters one plugin's calls: it gives the guest fuel in small grants, and at each
// looks at the clock and at the caller. That the guest comes here at all is what lets the
// host's garbage collector begin. Only the goroutine that has the plugin's turn uses it.
type tank struct {
	counter api.Global // the guest's; nil while there is none

	// Of the current call.
	limit    int64
	used     int64
	deadline time.Time
	caller   func() error // the error of the caller's context

	granted int64 // what the counter stood at when used was last brought up to date
	grant   int64 // the next one
	last    time.Time
}

// begin starts to meter a call.
func (t *tank) begin(ctx context.Context, limits Limits) {
	t.last = time.Now()
	t.limit, t.used, t.deadline, t.caller = limits.Fuel, 0, t.last.Add(limits.Deadline), ctx.Err
}

// end brings used up to date. It is within the limit: what a guest has left over from one
// call was granted within the limit of that one.
func (t *tank) end() {
	if t.counter == nil { // ended before the instance was made
		return
	}
	left := int64(t.counter.Get())
	t.used += t.granted - left
	t.granted = left
}

// drain forgets the guest.
func (t *tank) drain() { t.counter, t.granted = nil, 0 }

// tick is called by the guest when its counter is below zero, or before it calls the host. It answers with
// the next grant or panics, which unwinds the guest.
func (t *tank) tick(_ context.Context, stack []uint64) {
	left := int64(stack[0])
	t.used += t.granted - left
	t.granted = left
	if t.used > t.limit {
		panic(errOutOfFuel)
	}
	now := t.check()
	if left < 0 { // not if it came to call the host
		t.adapt(now.Sub(t.last))
	}
	t.last = now
	t.granted = min(t.grant, t.limit-t.used)
	stack[0] = uint64(t.granted)
}

func (t *tank) adapt(took time.Duration) {
	if took < grantTime {
		t.grant *= 2
	} else if took > 2*grantTime {
		t.grant /= 4
	}
	t.grant = max(minGrant, min(t.grant, maxGrant))
}

// check panics when the call must not go on. Host functions that work long call it too.
func (t *tank) check() time.Time {
	now := time.Now()
	if now.After(t.deadline) {
		panic(errDeadline)
	}
	if t.caller() != nil {
		panic(errCallerGone)
	}
	return now
}
