package core

import "time"

// Command is a change of the replicated state: one of the structs below. Its time is
// the leader's, stamped when the command enters the log; it carries none itself.
type Command interface{ command() }

// Result is what applying a command gave: the struct named beside each command.
// A command that the state refuses gives an error with a kind instead, and changes
// nothing.
type Result any

// SubmitJobs queues jobs, all or none. A repeat with a known RequestKey queues nothing
// and gives the first answer again. Result: Submitted.
type SubmitJobs struct {
	RequestKey string // made by the client, random, at most 64 bytes
	Jobs       []Submission
}

// Submission is one job, or one array, with what it runs.
type Submission struct {
	Spec    JobSpec
	Payload Payload
}

// Submitted answers SubmitJobs.
type Submitted struct {
	Jobs      []JobID // one for each submission, in order
	Duplicate bool    // the request key was known
}

// JobRef names a job, or one element of an array by its index.
type JobRef struct {
	ID    JobID
	Index *uint32 // nil: the whole record or the whole array
}

// CancelJobs ends jobs: pending ones at once, running ones when their agent has ended
// them. Cancelling a job that is over is not an error. Result: Cancelled.
type CancelJobs struct {
	Refs []JobRef
	By   string // who asked
}

// Cancelled answers CancelJobs with one error, or nil, for each reference.
type Cancelled struct {
	Errors []error
}

// ApplyPlan starts what still fits and records why the rest waits. Result: Planned.
type ApplyPlan struct{ Plan Plan }

// Planned answers ApplyPlan.
type Planned struct {
	Started []JobID  // the records that now run, in the plan's order
	Refused []string // one sentence for each start that no longer fits
}

// ReportJobs tells what agents saw of jobs. Reports of an older attempt, or about jobs
// that are over, change nothing. Result: Reported.
type ReportJobs struct{ Reports []JobReport }

// JobReport is the end of one attempt of a job.
type JobReport struct {
	Job      JobID
	Attempt  uint32
	State    JobState // a terminal state; CANCELLED wins if a cancel was accepted
	Reason   Reason
	Message  string
	ExitCode int32
	Signal   int32
}

// Reported answers ReportJobs.
type Reported struct {
	Ended []JobID // the jobs that these reports ended
}

// RegisterNode says that an agent speaks for a node. If another registration spoke for
// it before, the node's facts are replaced and its jobs stay as they are, unless the
// machine was started anew in between: then nothing of them is left, and they end as
// NODE_FAIL. Result: nil.
type RegisterNode struct {
	Name     string
	Address  string
	Labels   map[string]string
	Capacity Resources
	Agent    string
	BootID   string // empty: not known
	Version  string
	OS       string
}

// DrainNode takes a node out of service for new jobs, or puts it back. Result: nil.
type DrainNode struct {
	Name   string
	Drain  bool
	Reason string
	By     string
}

// MarkNodes says which nodes stopped or resumed answering. The jobs of a node that
// goes down end as NODE_FAIL. Result: nil.
type MarkNodes struct{ Marks []NodeMark }

// NodeMark is one node's new standing.
type NodeMark struct {
	Name   string
	Down   bool
	Reason string
}

// Forget drops terminal jobs that ended before EndedBefore and were last changed at or
// below HistoryIndex, and request keys first seen before EndedBefore. Result: Forgotten.
type Forget struct {
	EndedBefore  time.Time
	HistoryIndex uint64 // what the leader's job history has on disk
}

// Forgotten answers Forget.
type Forgotten struct{ Jobs, Requests int }

// AnnounceMember says where a controller serves the API, so that any other can forward
// to it. Result: nil.
type AnnounceMember struct{ Member Member }

// Member is one controller as the replicated state knows it.
type Member struct {
	ServerID   string `json:"server_id"` // name#incarnation
	Name       string `json:"name"`
	APIAddress string `json:"api_address"`
	Version    string `json:"version"`
}

func (SubmitJobs) command()     {}
func (CancelJobs) command()     {}
func (ApplyPlan) command()      {}
func (ReportJobs) command()     {}
func (RegisterNode) command()   {}
func (DrainNode) command()      {}
func (MarkNodes) command()      {}
func (Forget) command()         {}
func (AnnounceMember) command() {}
