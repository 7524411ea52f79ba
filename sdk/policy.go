package sdk

import "github.com/rowelhq/rowel/sdk/abi"

// Info is how a plugin describes itself to the controller.
type Info struct {
	Name        string // lower-case letters, digits and '-', at most 63
	Version     string // semantic version, without a leading v
	Description string // one sentence for people
}

// Schedule decides one cycle: it reads the cycle's picture and proposes through the
// cycle's methods. It keeps nothing between calls; equal pictures must give equal plans.
type Schedule func(*Cycle)

// policy is what this guest is. Policy sets it, before main, and nothing changes it after.
var policy struct {
	info     Info
	schedule Schedule
}

// Policy makes this guest a policy. Call it once, in init; a second call panics.
func Policy(info Info, schedule Schedule) {
	if policy.schedule != nil {
		panic("sdk.Policy was called twice: a guest is one policy")
	}
	policy.info, policy.schedule = info, schedule
}

// Run runs a schedule function natively on a picture, as a guest would run it. The
// picture is not changed.
func Run(schedule Schedule, picture *abi.Picture) *abi.Plan {
	c := newCycle(picture)
	schedule(c)
	return &c.plan
}
