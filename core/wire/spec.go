package wire

import (
	"time"

	"github.com/rowelhq/rowel/core"
)

// FromSpec returns the message of a spec whose time limit is valid.
func FromSpec(s *core.JobSpec) *JobSpec {
	return &JobSpec{
		Name:             s.Name,
		User:             s.User,
		Uid:              s.UID,
		Gid:              s.GID,
		Partition:        s.Partition,
		Comment:          s.Comment,
		Nodes:            s.Nodes,
		Tasks:            s.Tasks,
		CpusPerTask:      s.CPUsPerTask,
		MemoryMib:        s.MemoryMiB,
		MemPerCpuMib:     s.MemPerCPU,
		TimeLimitSeconds: uint64(s.TimeLimit / time.Second),
		Nice:             s.Nice,
		WorkDir:          s.WorkDir,
		Output:           s.Output,
		Error:            s.Error,
		Array:            fromArray(s.Array),
	}
}

// ToSpec returns the spec in m, not yet validated beyond what core.JobSpec can hold.
func ToSpec(m *JobSpec) (*core.JobSpec, error) {
	if m == nil {
		return nil, core.Errorf(core.Invalid, "the job has no specification")
	}
	limit, err := toTimeLimit(m.TimeLimitSeconds)
	if err != nil {
		return nil, err
	}
	array, err := toArray(m.Array)
	if err != nil {
		return nil, err
	}
	return &core.JobSpec{
		Name:        m.Name,
		User:        m.User,
		UID:         m.Uid,
		GID:         m.Gid,
		Partition:   m.Partition,
		Comment:     m.Comment,
		Nodes:       m.Nodes,
		Tasks:       m.Tasks,
		CPUsPerTask: m.CpusPerTask,
		MemoryMiB:   m.MemoryMib,
		MemPerCPU:   m.MemPerCpuMib,
		TimeLimit:   limit,
		Nice:        m.Nice,
		WorkDir:     m.WorkDir,
		Output:      m.Output,
		Error:       m.Error,
		Array:       array,
	}, nil
}

// maxWireSeconds is what a time.Duration holds.
const maxWireSeconds = uint64(1<<63-1) / uint64(time.Second)

func toTimeLimit(seconds uint64) (time.Duration, error) {
	if seconds > maxWireSeconds {
		return 0, core.Errorf(core.Invalid, "time limit of %d seconds is out of range", seconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

func fromArray(a *core.ArraySpec) *ArraySpec {
	if a == nil {
		return nil
	}
	return &ArraySpec{
		Indices:     fromIndexSet(a.Indices),
		MaxAtOnce:   a.MaxAtOnce,
		Description: a.Description,
	}
}

func toArray(m *ArraySpec) (*core.ArraySpec, error) {
	if m == nil {
		return nil, nil
	}
	indices, err := toIndexSet(m.Indices)
	if err != nil {
		return nil, err
	}
	return &core.ArraySpec{
		Indices:     indices,
		MaxAtOnce:   m.MaxAtOnce,
		Description: m.Description,
	}, nil
}

func fromIndexSet(s core.IndexSet) []*IndexRange {
	var ranges []*IndexRange
	for _, r := range s.Ranges() {
		ranges = append(ranges, &IndexRange{First: r.First, Last: r.Last, Step: r.Step})
	}
	return ranges
}

func toIndexSet(messages []*IndexRange) (core.IndexSet, error) {
	var ranges []core.IndexRange
	for _, m := range messages {
		ranges = append(ranges, core.IndexRange{First: m.GetFirst(), Last: m.GetLast(), Step: m.GetStep()})
	}
	return core.NewIndexSet(ranges)
}

// FromPayload returns the payload's message.
func FromPayload(p *core.Payload) *Payload {
	return &Payload{Script: p.Script, Argv: p.Argv, Environment: p.Environment}
}

// ToPayload returns the payload in m, an empty one if m is nil.
func ToPayload(m *Payload) *core.Payload {
	return &core.Payload{Script: m.GetScript(), Argv: m.GetArgv(), Environment: m.GetEnvironment()}
}
