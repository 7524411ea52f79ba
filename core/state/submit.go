package state

import (
	"slices"

	"github.com/rowelhq/rowel/core"
)

// submitJobs queues all jobs or none. It checks what the API and admission have checked
// before: an entry may come from an older leader with laxer rules.
func (e *entry) submitJobs(c core.SubmitJobs) (core.Submitted, error) {
	if n := len(c.RequestKey); n == 0 || n > core.MaxRequestKeyBytes {
		return core.Submitted{}, core.Errorf(core.Invalid,
			"the request key has %d bytes; it must have 1 to %d", n, core.MaxRequestKeyBytes)
	}
	known := first[storedRequest](e.txn, tableRequests, indexID, []byte(c.RequestKey))
	if known != nil {
		return core.Submitted{Jobs: slices.Clone(known.jobs), Duplicate: true}, nil
	}
	if err := validateSubmissions(c.Jobs); err != nil {
		return core.Submitted{}, err
	}
	ids := make([]core.JobID, 0, len(c.Jobs))
	for i := range c.Jobs {
		ids = append(ids, e.queue(&c.Jobs[i]))
	}
	must(e.txn.Insert(tableRequests, &storedRequest{key: c.RequestKey, jobs: slices.Clone(ids), at: e.at}))
	return core.Submitted{Jobs: ids}, nil
}

func validateSubmissions(submissions []core.Submission) error {
	if n := len(submissions); n == 0 || n > core.MaxSubmissions {
		return core.Errorf(core.Invalid, "a request submits 1 to %d jobs, not %d", core.MaxSubmissions, n)
	}
	for i := range submissions {
		err := submissions[i].Spec.Validate()
		if err == nil {
			err = submissions[i].Payload.Validate()
		}
		if err == nil {
			continue
		}
		if len(submissions) == 1 {
			return err
		}
		return core.Errorf(core.KindOf(err), "submission %d of %d: %w", i+1, len(submissions), err)
	}
	return nil
}

// queue adds one record, also for an array: its elements get theirs when they start.
func (e *entry) queue(s *core.Submission) core.JobID {
	spec := s.Spec
	job := e.addJob(core.Job{
		Spec:        &spec,
		State:       core.JobPending,
		Priority:    spec.Priority(),
		SubmittedAt: e.at,
	})
	if spec.Array != nil {
		job.ArrayID = job.ID
		job.ArrayPending = spec.Array.Indices
	}
	payload := s.Payload
	e.payloads.put(job.ID, &storedPayload{job: job.ID, payload: &payload, unfinished: elements(job)})
	return job.ID
}
