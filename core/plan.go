package core

// Plan is what one scheduling cycle wants done. Every part of it is checked again
// inside Apply, against the newest state.
type Plan struct {
	Policy string // who made it, such as "backfill@1.0.0"
	Cycle  uint64
	Starts []Start
	Waits  []Wait
}

// Start gives a pending record its nodes. An array's record may be started several
// times in one plan: each takes the lowest index that has not started.
type Start struct {
	Job   JobID
	Nodes []string // rank order
}

// Wait records why a pending record was passed over. Only changes are sent.
type Wait struct {
	Job     JobID
	Reason  Reason
	Message string
}

// Empty reports whether applying the plan would change nothing.
func (p *Plan) Empty() bool { return len(p.Starts) == 0 && len(p.Waits) == 0 }
