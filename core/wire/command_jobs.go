package wire

import (
	"time"

	"github.com/rowelhq/rowel/core"
)

func fromSubmitJobs(c core.SubmitJobs) (*SubmitJobs, error) {
	m := &SubmitJobs{RequestKey: c.RequestKey}
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Spec.TimeLimit < 0 || job.Spec.TimeLimit%time.Second != 0 {
			return nil, core.Errorf(core.Invalid, "time limit %v is not a number of seconds", job.Spec.TimeLimit)
		}
		m.Jobs = append(m.Jobs, FromSubmission(job))
	}
	return m, nil
}

func toSubmitJobs(m *SubmitJobs) (core.Command, error) {
	c := core.SubmitJobs{RequestKey: m.GetRequestKey()}
	for _, job := range m.GetJobs() {
		submission, err := ToSubmission(job)
		if err != nil {
			return nil, err
		}
		c.Jobs = append(c.Jobs, submission)
	}
	return c, nil
}

// ToSubmission returns the submission in m, not yet validated beyond what core's types
// can hold.
func ToSubmission(m *Submission) (core.Submission, error) {
	spec, err := ToSpec(m.GetSpec())
	if err != nil {
		return core.Submission{}, err
	}
	return core.Submission{Spec: *spec, Payload: *ToPayload(m.GetPayload())}, nil
}

// FromSubmission returns the message of a submission whose time limit is valid.
func FromSubmission(s *core.Submission) *Submission {
	return &Submission{Spec: FromSpec(&s.Spec), Payload: FromPayload(&s.Payload)}
}

func fromCancelJobs(c core.CancelJobs) *CancelJobs {
	return &CancelJobs{Refs: FromJobRefs(c.Refs), By: c.By}
}

func toCancelJobs(m *CancelJobs) core.CancelJobs {
	return core.CancelJobs{Refs: ToJobRefs(m.GetRefs()), By: m.GetBy()}
}

func fromApplyPlan(c core.ApplyPlan) *ApplyPlan {
	m := &ApplyPlan{Policy: c.Plan.Policy, Cycle: c.Plan.Cycle}
	for _, s := range c.Plan.Starts {
		m.Starts = append(m.Starts, &Start{Job: uint64(s.Job), Nodes: s.Nodes})
	}
	for _, w := range c.Plan.Waits {
		m.Waits = append(m.Waits, &Wait{Job: uint64(w.Job), Reason: string(w.Reason), Message: w.Message})
	}
	return m
}

func toApplyPlan(m *ApplyPlan) core.ApplyPlan {
	c := core.ApplyPlan{Plan: core.Plan{Policy: m.GetPolicy(), Cycle: m.GetCycle()}}
	for _, s := range m.GetStarts() {
		c.Plan.Starts = append(c.Plan.Starts, core.Start{Job: core.JobID(s.GetJob()), Nodes: s.GetNodes()})
	}
	for _, w := range m.GetWaits() {
		c.Plan.Waits = append(c.Plan.Waits, core.Wait{
			Job: core.JobID(w.GetJob()), Reason: core.Reason(w.GetReason()), Message: w.GetMessage(),
		})
	}
	return c
}

func fromReportJobs(c core.ReportJobs) (*ReportJobs, error) {
	m := &ReportJobs{}
	for _, r := range c.Reports {
		if !r.State.Known() {
			return nil, core.Errorf(core.Invalid, "report of job %d: state %d is not known", r.Job, r.State)
		}
		m.Reports = append(m.Reports, FromReport(r))
	}
	return m, nil
}

func toReportJobs(m *ReportJobs) (core.Command, error) {
	c := core.ReportJobs{}
	for _, report := range m.GetReports() {
		r, err := ToReport(report)
		if err != nil {
			return nil, err
		}
		c.Reports = append(c.Reports, r)
	}
	return c, nil
}
