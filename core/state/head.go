package state

import (
	"time"

	"github.com/rowelhq/rowel/core"
)

// head is the part of the state that is not in tables.
type head struct {
	index   uint64    // of the last entry applied
	at      time.Time // of that entry, in UTC; never goes back
	nextJob core.JobID
	counts  Counts
}

// Counts says how many jobs are in each state. The record of an array's elements that
// have not started counts once for each of them.
type Counts [core.JobBootFail + 1]uint64

// Of returns the number of jobs in state s, 0 for a state that does not exist.
func (c Counts) Of(s core.JobState) uint64 {
	if int(s) >= len(c) {
		return 0
	}
	return c[s]
}

// Total returns the number of jobs in any state.
func (c Counts) Total() uint64 {
	var total uint64
	for _, n := range c {
		total += n
	}
	return total
}

func (c *Counts) add(j *core.Job)    { c[j.State] += uint64(elements(j)) }
func (c *Counts) remove(j *core.Job) { c[j.State] -= uint64(elements(j)) }

// elements returns how many jobs, as their owner counts them, the record stands for.
func elements(j *core.Job) uint32 {
	if j.ArrayMaster() {
		return j.ArrayPending.Len()
	}
	return 1
}

// unixNano returns t for the log and for keys: the zero time is 0.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// fromUnixNano is the inverse of unixNano.
func fromUnixNano(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds).UTC()
}
