package wire

import "github.com/rowelhq/rowel/core"

// FromState returns the state's message; their numbers are the same.
func FromState(s core.JobState) JobState { return JobState(s) }

// ToState returns the state in m, or an Invalid error if this version knows no such
// state or none was given.
func ToState(m JobState) (core.JobState, error) {
	if m < 0 || m > 255 || !core.JobState(m).Known() {
		return 0, core.Errorf(core.Invalid, "job state %d is not known to this version", int32(m))
	}
	return core.JobState(m), nil
}

// FromJob returns the record's message.
func FromJob(j *core.Job) *Job {
	return &Job{
		Id:           uint64(j.ID),
		Spec:         FromSpec(j.Spec),
		State:        FromState(j.State),
		Reason:       string(j.Reason),
		Message:      j.Message,
		Priority:     j.Priority,
		Attempt:      j.Attempt,
		ArrayId:      uint64(j.ArrayID),
		ArrayIndex:   j.ArrayIndex,
		ArrayPending: fromIndexSet(j.ArrayPending),
		ArrayRunning: j.ArrayRunning,
		Placements:   fromPlacements(j.Placements),
		Policy:       j.Policy,
		Cycle:        j.Cycle,
		SubmittedAt:  FromTime(j.SubmittedAt),
		StartedAt:    FromTime(j.StartedAt),
		EndedAt:      FromTime(j.EndedAt),
		ExitCode:     j.ExitCode,
		Signal:       j.Signal,
		CancelledBy:  j.CancelledBy,
		ModifyIndex:  j.ModifyIndex,
	}
}

// ToJob returns the record in m.
func ToJob(m *Job) (*core.Job, error) {
	spec, err := ToSpec(m.GetSpec())
	if err != nil {
		return nil, err
	}
	return ToJobSharing(m, spec)
}

// ToJobSharing returns the record in m with a spec that the caller holds already, so
// that the elements of an array keep sharing one.
func ToJobSharing(m *Job, spec *core.JobSpec) (*core.Job, error) {
	state, err := ToState(m.GetState())
	if err != nil {
		return nil, err
	}
	pending, err := toIndexSet(m.GetArrayPending())
	if err != nil {
		return nil, err
	}
	job := &core.Job{
		ID:           core.JobID(m.GetId()),
		Spec:         spec,
		State:        state,
		Reason:       core.Reason(m.GetReason()),
		Message:      m.GetMessage(),
		Priority:     m.GetPriority(),
		Attempt:      m.GetAttempt(),
		ArrayID:      core.JobID(m.GetArrayId()),
		ArrayIndex:   m.GetArrayIndex(),
		ArrayPending: pending,
		ArrayRunning: m.GetArrayRunning(),
		Placements:   toPlacements(m.GetPlacements()),
		Policy:       m.GetPolicy(),
		Cycle:        m.GetCycle(),
		ExitCode:     m.GetExitCode(),
		Signal:       m.GetSignal(),
		CancelledBy:  m.GetCancelledBy(),
		ModifyIndex:  m.GetModifyIndex(),
	}
	return job, setJobTimes(job, m)
}

func setJobTimes(job *core.Job, m *Job) (err error) {
	if job.SubmittedAt, err = ToTime(m.GetSubmittedAt()); err != nil {
		return err
	}
	if job.StartedAt, err = ToTime(m.GetStartedAt()); err != nil {
		return err
	}
	job.EndedAt, err = ToTime(m.GetEndedAt())
	return err
}

func fromPlacements(placements []core.Placement) []*Placement {
	var messages []*Placement
	for _, p := range placements {
		messages = append(messages, &Placement{Node: p.Node, Resources: FromResources(p.Resources)})
	}
	return messages
}

func toPlacements(messages []*Placement) []core.Placement {
	var placements []core.Placement
	for _, m := range messages {
		placements = append(placements, core.Placement{Node: m.GetNode(), Resources: ToResources(m.GetResources())})
	}
	return placements
}

// FromJobRef returns the reference's message.
func FromJobRef(r core.JobRef) *JobRef { return &JobRef{Id: uint64(r.ID), Index: r.Index} }

// ToJobRef returns the reference in m; a nil message names job 0, which never exists.
func ToJobRef(m *JobRef) core.JobRef {
	ref := core.JobRef{ID: core.JobID(m.GetId())}
	if m != nil {
		ref.Index = m.Index
	}
	return ref
}

// FromJobRefs returns the references' messages in order.
func FromJobRefs(refs []core.JobRef) []*JobRef {
	var messages []*JobRef
	for _, r := range refs {
		messages = append(messages, FromJobRef(r))
	}
	return messages
}

// ToJobRefs returns the references in order.
func ToJobRefs(messages []*JobRef) []core.JobRef {
	var refs []core.JobRef
	for _, m := range messages {
		refs = append(refs, ToJobRef(m))
	}
	return refs
}

// FromReport returns the report's message.
func FromReport(r core.JobReport) *JobReport {
	return &JobReport{
		Job:      uint64(r.Job),
		Attempt:  r.Attempt,
		State:    FromState(r.State),
		Reason:   string(r.Reason),
		Message:  r.Message,
		ExitCode: r.ExitCode,
		Signal:   r.Signal,
	}
}

// ToReport returns the report in m, or an Invalid error if it has no known state.
func ToReport(m *JobReport) (core.JobReport, error) {
	state, err := ToState(m.GetState())
	if err != nil {
		return core.JobReport{}, err
	}
	return core.JobReport{
		Job:      core.JobID(m.GetJob()),
		Attempt:  m.GetAttempt(),
		State:    state,
		Reason:   core.Reason(m.GetReason()),
		Message:  m.GetMessage(),
		ExitCode: m.GetExitCode(),
		Signal:   m.GetSignal(),
	}, nil
}
