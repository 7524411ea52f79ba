package scheduler

import "time"

// Outcome is what one cycle did.
type Outcome struct {
	Cycle     uint64
	Policy    string // whose plan was taken; empty if none was asked or none answered
	Unchanged bool   // nothing had changed that a policy could act on: none was asked
	FellBack  bool   // the fallback was asked
	Fault     *Fault // the last of a policy in this cycle

	Nodes   int // in the picture
	Jobs    int // pending records in the picture
	Running int // placements in the picture

	Started int // records
	Refused int // starts that no longer fitted when they were applied
	Waits   int // reasons written

	Durations Durations
}

// Durations is where the time of a cycle went.
type Durations struct {
	Picture time.Duration // drawing the view
	Policy  time.Duration // calling policies and checking their plans
	Apply   time.Duration // proposing the plan until it was applied
}

// Fault is a policy's failure: an error of a call, or an illegal proposal.
type Fault struct {
	Policy string
	Kind   string // of an illegal proposal; empty for an error of a call
	Text   string
	Time   time.Time
}

// Stats is the scheduler's account since New.
type Stats struct {
	Cycles    uint64 // with a policy's answer or failure
	Unchanged uint64 // in which nothing was new to a policy
	Fallbacks uint64 // cycles that the fallback was asked to place
	Failures  uint64 // cycles that ended in an error
	Started   uint64
	Refused   uint64
	Total     Durations

	Last      Outcome // of the last cycle that was not Unchanged
	LastFault *Fault
}

// Stats returns a copy of the account.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// record adds a cycle to the account.
func (s *Scheduler) record(o Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.stats
	t.Total.Picture += o.Durations.Picture
	t.Total.Policy += o.Durations.Policy
	t.Total.Apply += o.Durations.Apply
	t.Started += uint64(o.Started)
	t.Refused += uint64(o.Refused)
	if err != nil {
		t.Failures++
	}
	if o.FellBack {
		t.Fallbacks++
	}
	if o.Fault != nil {
		t.LastFault = o.Fault
	}
	if o.Unchanged {
		t.Unchanged++
		return
	}
	t.Cycles++
	t.Last = o
}
