package core

import (
	"fmt"
	"strings"
)

// JobState is where a job is in its life. Names and short codes are Slurm's. The
// numbers are part of the log and of snapshots and are never reused.
type JobState uint8

// The states of a job.
const (
	JobPending     JobState = 1
	JobRunning     JobState = 2
	JobSuspended   JobState = 3
	JobCompleting  JobState = 4 // told to end, its processes not yet reported gone
	JobCompleted   JobState = 5
	JobCancelled   JobState = 6
	JobFailed      JobState = 7
	JobTimeout     JobState = 8
	JobNodeFail    JobState = 9
	JobPreempted   JobState = 10
	JobOutOfMemory JobState = 11
	JobDeadline    JobState = 12
	JobBootFail    JobState = 13
)

type jobStateInfo struct {
	name, code string
	next       []JobState
}

// ends are the states a job's processes can leave it in.
var ends = []JobState{
	JobCompleted, JobCancelled, JobFailed, JobTimeout, JobNodeFail,
	JobPreempted, JobOutOfMemory, JobDeadline, JobBootFail,
}

var jobStates = map[JobState]jobStateInfo{
	JobPending:     {"PENDING", "PD", []JobState{JobRunning, JobCancelled, JobDeadline}},
	JobRunning:     {"RUNNING", "R", append([]JobState{JobCompleting, JobSuspended, JobPending}, ends...)},
	JobSuspended:   {"SUSPENDED", "S", append([]JobState{JobRunning, JobCompleting, JobPending}, ends...)},
	JobCompleting:  {"COMPLETING", "CG", append([]JobState{JobPending}, ends...)},
	JobCompleted:   {"COMPLETED", "CD", nil},
	JobCancelled:   {"CANCELLED", "CA", nil},
	JobFailed:      {"FAILED", "F", nil},
	JobTimeout:     {"TIMEOUT", "TO", nil},
	JobNodeFail:    {"NODE_FAIL", "NF", nil},
	JobPreempted:   {"PREEMPTED", "PR", nil},
	JobOutOfMemory: {"OUT_OF_MEMORY", "OOM", nil},
	JobDeadline:    {"DEADLINE", "DL", nil},
	JobBootFail:    {"BOOT_FAIL", "BF", nil},
}

// String returns Slurm's name of the state, such as "PENDING".
func (s JobState) String() string {
	if info, ok := jobStates[s]; ok {
		return info.name
	}
	return fmt.Sprintf("STATE_%d", uint8(s))
}

// Code returns Slurm's short code of the state, such as "PD".
func (s JobState) Code() string {
	if info, ok := jobStates[s]; ok {
		return info.code
	}
	return "?"
}

// Known reports whether s is one of the states above.
func (s JobState) Known() bool {
	_, ok := jobStates[s]
	return ok
}

// Terminal reports whether a job in this state is over.
func (s JobState) Terminal() bool {
	info, ok := jobStates[s]
	return ok && info.next == nil
}

// Allocated reports whether a job in this state holds resources on its nodes.
func (s JobState) Allocated() bool {
	return s == JobRunning || s == JobSuspended || s == JobCompleting
}

// CanBecome reports whether a job may go from s to next.
func (s JobState) CanBecome(next JobState) bool {
	for _, legal := range jobStates[s].next {
		if legal == next {
			return true
		}
	}
	return false
}

// ParseJobState returns the state with this name or short code, in any case.
func ParseJobState(text string) (JobState, error) {
	for s := JobPending; s <= JobBootFail; s++ {
		if strings.EqualFold(text, s.String()) || strings.EqualFold(text, s.Code()) {
			return s, nil
		}
	}
	return 0, Errorf(Invalid, "unknown job state %q: states are Slurm's, such as PENDING (PD), RUNNING (R), COMPLETED (CD)", text)
}

// MarshalText writes the state's name.
func (s JobState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name or short code.
func (s *JobState) UnmarshalText(text []byte) error {
	parsed, err := ParseJobState(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Reason says why a pending job waits or why a job ended as it did, in one word of
// Slurm's. The empty reason is shown as "None".
type Reason string

// The reasons Rowel gives today.
const (
	ReasonNone              Reason = ""
	ReasonPriority          Reason = "Priority"          // jobs of higher priority are ahead
	ReasonResources         Reason = "Resources"         // fits, but not now
	ReasonBadConstraints    Reason = "BadConstraints"    // no node could ever hold it
	ReasonNodesNotAvailable Reason = "ReqNodeNotAvail"   // nodes that could hold it are down or drained
	ReasonJobArrayTaskLimit Reason = "JobArrayTaskLimit" // the array's %limit is reached
	ReasonNonZeroExitCode   Reason = "NonZeroExitCode"   // FAILED: the job's own exit code
	ReasonRaisedSignal      Reason = "RaisedSignal"      // FAILED: ended by a signal
	ReasonTimeLimit         Reason = "TimeLimit"         // TIMEOUT
	ReasonJobLaunchFailure  Reason = "JobLaunchFailure"  // FAILED before its first instruction
	ReasonNodeDown          Reason = "NodeDown"          // NODE_FAIL
)

// String returns the reason as squeue shows it.
func (r Reason) String() string {
	if r == ReasonNone {
		return "None"
	}
	return string(r)
}
