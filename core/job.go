package core

import (
	"fmt"
	"strconv"
	"time"
)

// JobID is a job's number: positive, given in order of submission, never reused.
type JobID uint64

// String returns the number in decimal.
func (id JobID) String() string { return strconv.FormatUint(uint64(id), 10) }

// Unlimited is the time limit of a job that may run for ever.
const Unlimited time.Duration = 0

// DefaultPartition is where jobs go that name no partition.
const DefaultPartition = "main"

// BasePriority is the priority of a job whose owner asked for no change.
const BasePriority = 1 << 20

// JobSpec is what was asked for. It never changes after submission, and the elements
// of an array share one.
type JobSpec struct {
	Name      string `json:"name"`
	User      string `json:"user"`
	UID       uint32 `json:"uid"`
	GID       uint32 `json:"gid"`
	Partition string `json:"partition"`
	Comment   string `json:"comment,omitempty"`

	Nodes       uint32        `json:"nodes"`         // at least 1
	Tasks       uint32        `json:"tasks"`         // at least 1
	CPUsPerTask uint32        `json:"cpus_per_task"` // at least 1
	MemoryMiB   uint64        `json:"memory_mib"`    // on each node; 0: not constrained
	MemPerCPU   uint64        `json:"mem_per_cpu_mib,omitempty"`
	TimeLimit   time.Duration `json:"-"` // whole seconds; Unlimited when 0
	Nice        uint32        `json:"nice"`

	WorkDir string `json:"work_dir"`
	Output  string `json:"output"` // pattern; empty: the agent's spool
	Error   string `json:"error"`  // pattern; empty: where Output goes, or the spool

	Array *ArraySpec `json:"array,omitempty"`
}

// ArraySpec asks for one job for each index.
type ArraySpec struct {
	Indices     IndexSet `json:"indices"`
	MaxAtOnce   uint32   `json:"max_at_once,omitempty"` // %limit; 0: all
	Description string   `json:"description"`           // as typed: "0-15%4"
}

// PerNode returns what the job takes on each of its nodes. Tasks are spread evenly;
// when they do not divide, every node is charged for the fullest one.
func (s *JobSpec) PerNode() Resources {
	tasks := (s.Tasks + s.Nodes - 1) / s.Nodes
	cpus := tasks * s.CPUsPerTask
	memory := s.MemoryMiB
	if s.MemPerCPU > 0 {
		memory = s.MemPerCPU * uint64(cpus)
	}
	return Resources{CPUs: cpus, MemoryMiB: memory}
}

// Priority returns the job's place in the queue: higher goes first.
func (s *JobSpec) Priority() uint32 {
	return BasePriority - min(s.Nice, BasePriority)
}

// Payload is what a job runs. It is kept apart from the job because it is large, the
// elements of an array share it, and nobody but an agent needs it.
type Payload struct {
	Script      []byte   // a batch script with its #! line; empty: Argv is the command
	Argv        []string // the script's arguments, or a command that no shell sees
	Environment []string // NAME=value
}

// Size returns the bytes that the payload takes.
func (p *Payload) Size() int {
	size := len(p.Script)
	for _, s := range p.Argv {
		size += len(s)
	}
	for _, s := range p.Environment {
		size += len(s)
	}
	return size
}

// Placement is a job's share of one node.
type Placement struct {
	Node string `json:"node"`
	Resources
}

// Job is one record of the queue: a job, one started or finished element of an array,
// or all elements of an array that have not started. A *Job that came out of a View is
// shared and must not be changed.
type Job struct {
	ID       JobID
	Spec     *JobSpec
	State    JobState
	Reason   Reason
	Message  string // Reason in words, with names and figures; may be empty
	Priority uint32
	Attempt  uint32 // 0 until first started; grows with each start

	// ArrayID is the ID of the array that this record belongs to, 0 for other jobs.
	// The record of what has not started keeps the array's own ID and lists its indices
	// in ArrayPending; when its last index leaves, it becomes that element's record.
	ArrayID      JobID
	ArrayIndex   uint32   // when ArrayID is set and ArrayPending is empty
	ArrayPending IndexSet // of the record of what has not started
	ArrayRunning uint32   // of the same record: elements that hold resources now

	Placements []Placement // rank order; the batch script runs on the first
	Policy     string      // who placed it, such as "backfill@1.0.0"
	Cycle      uint64      // the scheduling cycle that placed it

	SubmittedAt time.Time
	StartedAt   time.Time // when it was given its nodes
	EndedAt     time.Time

	ExitCode    int32  // as wait(2) gives it; 0 when ended by a signal
	Signal      int32  // the signal that ended it, or 0
	CancelledBy string // set once a cancel was accepted

	ModifyIndex uint64 // Raft index of the last change
}

// ArrayMaster reports whether the record stands for elements that have not started.
func (j *Job) ArrayMaster() bool { return !j.ArrayPending.Empty() }

// PayloadID returns the ID under which the job's payload is kept.
func (j *Job) PayloadID() JobID {
	if j.ArrayID != 0 {
		return j.ArrayID
	}
	return j.ID
}

// DisplayID returns the job's number as squeue prints it: "12", "12_3" for an element
// of an array, "12_[4-7%2]" for what has not started.
func (j *Job) DisplayID() string {
	switch {
	case j.ArrayID == 0:
		return j.ID.String()
	case !j.ArrayMaster():
		return fmt.Sprintf("%d_%d", j.ArrayID, j.ArrayIndex)
	case j.Spec.Array != nil && j.Spec.Array.MaxAtOnce > 0:
		return fmt.Sprintf("%d_[%s%%%d]", j.ArrayID, j.ArrayPending, j.Spec.Array.MaxAtOnce)
	}
	return fmt.Sprintf("%d_[%s]", j.ArrayID, j.ArrayPending)
}

// Startable returns how many times the record may be started now: 1 for a plain
// pending job, the elements allowed by %limit for an array, 0 if it is not pending.
func (j *Job) Startable() uint32 {
	if j.State != JobPending {
		return 0
	}
	if !j.ArrayMaster() {
		return 1
	}
	count := j.ArrayPending.Len()
	if j.Spec.Array != nil && j.Spec.Array.MaxAtOnce > 0 {
		count = min(count, j.Spec.Array.MaxAtOnce-min(j.Spec.Array.MaxAtOnce, j.ArrayRunning))
	}
	return count
}

// ExpectedEnd returns when a running job reaches its time limit, and false if it has
// none.
func (j *Job) ExpectedEnd() (time.Time, bool) {
	if j.Spec.TimeLimit == Unlimited || j.StartedAt.IsZero() {
		return time.Time{}, false
	}
	return j.StartedAt.Add(j.Spec.TimeLimit), true
}

// Transition moves the job to the next state, or returns a Conflict error if a job
// may not go there from where it is.
func (j *Job) Transition(next JobState) error {
	if !j.State.CanBecome(next) {
		return Errorf(Conflict, "job %s is %s and cannot become %s", j.DisplayID(), j.State, next)
	}
	j.State = next
	return nil
}
