package history

import (
	"slices"

	"github.com/rowelhq/rowel/core"
)

// Merge joins records of the history with those that the state still has, in the order
// of Query: what has not ended first, then the newest end. Where both have a job's
// attempt the live record counts.
func Merge(fromHistory, live []*core.Job) []*core.Job {
	type attempt struct {
		id     core.JobID
		number uint32
	}
	known := make(map[attempt]bool, len(live))
	merged := slices.Clone(live)
	for _, job := range live {
		known[attempt{job.ID, job.Attempt}] = true
	}
	for _, job := range fromHistory {
		if !known[attempt{job.ID, job.Attempt}] {
			merged = append(merged, job)
		}
	}
	slices.SortFunc(merged, newestFirst)
	return merged
}
