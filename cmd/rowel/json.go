package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/rowelhq/rowel/core"
)

// The structs in this file and beside the commands are a contract: docs/cli.md describes
// them, fields are added and never renamed or removed. Times are RFC 3339 in UTC or
// null, durations are seconds, states are names, lists are never null.

// writeJSON prints a value.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// jobsOutput is what queue and wait print.
type jobsOutput struct {
	Jobs []jobOutput `json:"jobs"`
}

// jobOutput is one record of a job.
type jobOutput struct {
	ID           string      `json:"id"` // as squeue shows it: "12", "12_3", "12_[4-7%2]"
	JobID        core.JobID  `json:"job_id"`
	ArrayJobID   *core.JobID `json:"array_job_id"`
	ArrayIndex   *uint32     `json:"array_index"`   // of an element
	ArrayPending *string     `json:"array_pending"` // of what has not started: "4-7"
	Name         string      `json:"name"`
	User         string      `json:"user"`
	UID          uint32      `json:"uid"`
	GID          uint32      `json:"gid"`
	Partition    string      `json:"partition"`
	Comment      string      `json:"comment"`

	State       core.JobState `json:"state"`
	Reason      string        `json:"reason"` // "None" if there is none
	Message     string        `json:"message"`
	Priority    uint32        `json:"priority"`
	Nice        uint32        `json:"nice"`
	Attempt     uint32        `json:"attempt"`
	CancelledBy *string       `json:"cancelled_by"`

	NodeCount        uint32  `json:"node_count"`
	Tasks            uint32  `json:"tasks"`
	CPUsPerTask      uint32  `json:"cpus_per_task"`
	MemoryMiB        uint64  `json:"memory_mib"`         // on each node; 0: not constrained
	MemPerCPU        uint64  `json:"mem_per_cpu_mib"`    // 0: not given
	TimeLimitSeconds *int64  `json:"time_limit_seconds"` // null: unlimited
	WorkDir          string  `json:"work_dir"`
	Output           *string `json:"output"` // null: kept by the agent
	Error            *string `json:"error"`  // null: where output goes

	Nodes  []placementOutput `json:"nodes"` // in order of rank
	Policy string            `json:"policy"`
	Cycle  uint64            `json:"cycle"`

	SubmittedAt    *time.Time `json:"submitted_at"`
	StartedAt      *time.Time `json:"started_at"`
	EndedAt        *time.Time `json:"ended_at"`
	ExpectedEndAt  *time.Time `json:"expected_end_at"` // when the time limit is reached
	ElapsedSeconds int64      `json:"elapsed_seconds"`
	ExitCode       *int32     `json:"exit_code"` // null: not over
	Signal         *int32     `json:"signal"`    // null: none
}

// placementOutput is a job's share of one node.
type placementOutput struct {
	Node      string `json:"node"`
	CPUs      uint32 `json:"cpus"`
	MemoryMiB uint64 `json:"memory_mib"`
}

func toJobsOutput(jobs []*core.Job, now time.Time) []jobOutput {
	out := make([]jobOutput, len(jobs))
	for i, j := range jobs {
		out[i] = toJobOutput(j, now)
	}
	return out
}

func toJobOutput(j *core.Job, now time.Time) jobOutput {
	s := j.Spec
	out := jobOutput{
		ID: j.DisplayID(), JobID: j.ID, Name: s.Name, User: s.User, UID: s.UID, GID: s.GID,
		Partition: s.Partition, Comment: s.Comment,
		State: j.State, Reason: j.Reason.String(), Message: j.Message,
		Priority: j.Priority, Nice: s.Nice, Attempt: j.Attempt, CancelledBy: orNull(j.CancelledBy),
		NodeCount: s.Nodes, Tasks: s.Tasks, CPUsPerTask: s.CPUsPerTask, MemoryMiB: s.MemoryMiB, MemPerCPU: s.MemPerCPU,
		WorkDir: s.WorkDir, Output: orNull(s.Output), Error: orNull(s.Error),
		Nodes: []placementOutput{}, Policy: j.Policy, Cycle: j.Cycle,
		SubmittedAt: timeOrNull(j.SubmittedAt), StartedAt: timeOrNull(j.StartedAt), EndedAt: timeOrNull(j.EndedAt),
		ElapsedSeconds: int64(elapsed(j, now) / time.Second), Signal: orNull(j.Signal),
	}
	for _, p := range j.Placements {
		out.Nodes = append(out.Nodes, placementOutput{Node: p.Node, CPUs: p.CPUs, MemoryMiB: p.MemoryMiB})
	}
	if s.TimeLimit != core.Unlimited {
		seconds := int64(s.TimeLimit / time.Second)
		out.TimeLimitSeconds = &seconds
	}
	if end, ok := j.ExpectedEnd(); ok && !j.State.Terminal() {
		out.ExpectedEndAt = timeOrNull(end)
	}
	if j.State.Terminal() {
		code := j.ExitCode
		out.ExitCode = &code
	}
	if j.ArrayID != 0 {
		id, index, pending := j.ArrayID, j.ArrayIndex, j.ArrayPending.String()
		out.ArrayJobID = &id
		if j.ArrayMaster() {
			out.ArrayPending = &pending
		} else {
			out.ArrayIndex = &index
		}
	}
	return out
}

// nodeOutput is one node.
type nodeOutput struct {
	Name         string            `json:"name"`
	State        core.NodeState    `json:"state"`
	Address      string            `json:"address"`
	Labels       map[string]string `json:"labels"`
	CPUs         uint32            `json:"cpus"`
	CPUsAlloc    uint32            `json:"cpus_allocated"`
	MemoryMiB    uint64            `json:"memory_mib"`
	MemoryAlloc  uint64            `json:"memory_allocated_mib"`
	Jobs         uint32            `json:"jobs"`
	Version      string            `json:"version"`
	OS           string            `json:"os"`
	Down         bool              `json:"down"`
	DownReason   *string           `json:"down_reason"`
	Drain        bool              `json:"drain"`
	DrainReason  *string           `json:"drain_reason"`
	DrainedBy    *string           `json:"drained_by"`
	RegisteredAt *time.Time        `json:"registered_at"`
	ChangedAt    *time.Time        `json:"changed_at"` // of down or drain
}

func toNodeOutput(n *core.Node) nodeOutput {
	out := nodeOutput{
		Name: n.Name, State: n.State(), Address: n.Address, Labels: n.Labels,
		CPUs: n.Capacity.CPUs, CPUsAlloc: n.Allocated.CPUs,
		MemoryMiB: n.Capacity.MemoryMiB, MemoryAlloc: n.Allocated.MemoryMiB,
		Jobs: n.Jobs, Version: n.Version, OS: n.OS,
		Down: n.Down, DownReason: orNull(n.DownReason),
		Drain: n.Drain, DrainReason: orNull(n.DrainReason), DrainedBy: orNull(n.DrainedBy),
		RegisteredAt: timeOrNull(n.RegisteredAt), ChangedAt: timeOrNull(n.ChangedAt),
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	return out
}

// orNull makes the zero value null.
func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
