package state

import "github.com/rowelhq/rowel/core"

// forget drops what is over for long enough and safe in history, and the request keys
// whose clients have stopped repeating. It looks only at what is old enough.
func (e *entry) forget(c core.Forget) core.Forgotten {
	e.flush()
	var forgotten core.Forgotten
	jobs, err := e.txn.Get(tableJobs, indexEnded)
	must(err)
	for record := jobs.Next(); record != nil; record = jobs.Next() {
		job := record.(*core.Job)
		if !job.EndedAt.Before(c.EndedBefore) {
			break
		}
		if job.ModifyIndex > c.HistoryIndex {
			continue
		}
		e.counts.remove(job)
		must(e.txn.Delete(tableJobs, job))
		forgotten.Jobs++
	}
	requests, err := e.txn.Get(tableRequests, indexSeen)
	must(err)
	for record := requests.Next(); record != nil; record = requests.Next() {
		request := record.(*storedRequest)
		if !request.at.Before(c.EndedBefore) {
			break
		}
		must(e.txn.Delete(tableRequests, request))
		forgotten.Requests++
	}
	return forgotten
}
