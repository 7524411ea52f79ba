package core

import (
	"strings"
	"testing"
	"time"
)

func validSpec() JobSpec {
	return JobSpec{
		Name: "work", User: "ann", Partition: DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1,
		TimeLimit: time.Hour, WorkDir: "/home/ann",
	}
}

func TestValidateTakesReasonableSpecs(t *testing.T) {
	for name, change := range map[string]func(*JobSpec){
		"as it is":   func(*JobSpec) {},
		"unlimited":  func(s *JobSpec) { s.TimeLimit = Unlimited },
		"array":      func(s *JobSpec) { s.Array = &ArraySpec{Indices: mustParse(t, "0-99999"), Description: "0-99999"} },
		"non-ASCII":  func(s *JobSpec) { s.Name = "Förster" },
		"no dir":     func(s *JobSpec) { s.WorkDir = "" },
		"many nodes": func(s *JobSpec) { s.Nodes, s.Tasks = 100, 250 },
	} {
		spec := validSpec()
		change(&spec)
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateNamesTheFieldThatIsWrong(t *testing.T) {
	cases := []struct {
		says   string
		change func(*JobSpec)
	}{
		{"the job has no name", func(s *JobSpec) { s.Name = "" }},
		{"job name is 10000 bytes long", func(s *JobSpec) { s.Name = strings.Repeat("x", 10_000) }},
		{"job name is not valid UTF-8", func(s *JobSpec) { s.Name = "a\xff" }},
		{"output has a control character at byte 2", func(s *JobSpec) { s.Output = "a\x00b" }},
		{`working directory "tmp" is not an absolute path`, func(s *JobSpec) { s.WorkDir = "tmp" }},
		{`partition "gpu" does not exist`, func(s *JobSpec) { s.Partition = "gpu" }},
		{"time limit -1s", func(s *JobSpec) { s.TimeLimit = -time.Second }},
		{"time limit 1.5s", func(s *JobSpec) { s.TimeLimit = 1500 * time.Millisecond }},
		{"time limit", func(s *JobSpec) { s.TimeLimit = MaxTimeLimit + time.Second }},
		{"nodes must be from 1", func(s *JobSpec) { s.Nodes = 0 }},
		{"tasks must be from 1", func(s *JobSpec) { s.Tasks = MaxTasksPerJob + 1 }},
		{"CPUs per task must be from 1", func(s *JobSpec) { s.CPUsPerTask = 0 }},
		{"memory in MiB must be", func(s *JobSpec) { s.MemoryMiB = 1 << 60 }},
		{"nice must be", func(s *JobSpec) { s.Nice = BasePriority + 1 }},
		{"1 tasks cannot cover 2 nodes", func(s *JobSpec) { s.Nodes = 2 }},
		{"the job asks for 1114112 CPUs", func(s *JobSpec) { s.Tasks, s.CPUsPerTask = 17, 65536 }},
		{"an array has 1 to 100000 elements", func(s *JobSpec) { s.Array = &ArraySpec{} }},
		{"array is 5000 bytes long", func(s *JobSpec) {
			s.Array = &ArraySpec{Indices: mustParse(t, "0"), Description: strings.Repeat("0", 5000)}
		}},
	}
	for _, c := range cases {
		t.Run(c.says, func(t *testing.T) {
			spec := validSpec()
			c.change(&spec)
			err := spec.Validate()
			if KindOf(err) != Invalid || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestValidateBoundsRangesOfArray(t *testing.T) {
	ranges := make([]IndexRange, MaxArrayRanges+1)
	for i := range ranges {
		ranges[i] = IndexRange{First: uint32(2 * i), Last: uint32(2 * i), Step: 1}
	}
	set, err := NewIndexSet(ranges)
	if err != nil {
		t.Fatal(err)
	}
	spec := validSpec()
	spec.Array = &ArraySpec{Indices: set}
	if err := spec.Validate(); KindOf(err) != Invalid || err == nil {
		t.Error(err)
	}
}

func TestPayloadIsSomethingThatRuns(t *testing.T) {
	script := []byte("#!/bin/sh\n")
	for name, p := range map[string]Payload{
		"script":           {Script: script, Environment: []string{"A=1", "EMPTY="}},
		"script with args": {Script: script, Argv: []string{""}},
		"command":          {Argv: []string{"true", ""}},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for says, p := range map[string]Payload{
		"the job has nothing to run":      {},
		"the command is empty":            {Argv: []string{""}},
		"NUL byte at offset 3":            {Script: []byte("#!/\x00")},
		"does not start with #!":          {Script: []byte("echo")},
		"argument 1 has a NUL byte":       {Argv: []string{"a", "\x00"}},
		"argument 1 is not valid UTF-8":   {Argv: []string{"a", "\xff"}},
		`environment entry "A" is not`:    {Argv: []string{"a"}, Environment: []string{"A"}},
		`environment entry "=1" is not`:   {Argv: []string{"a"}, Environment: []string{"=1"}},
		`variable "A" is not valid UTF-8`: {Argv: []string{"a"}, Environment: []string{"A=\xff"}},
		"have 8388609 bytes together":     {Script: append(script, make([]byte, MaxPayloadBytes-9)...)},
	} {
		if err := p.Validate(); KindOf(err) != Invalid || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}

func TestNodeNamesAreHostNames(t *testing.T) {
	for _, name := range []string{"n1", "node-001.example.org", "N_1"} {
		if err := ValidateNodeName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a b", "n\x00", "ñ", "a/b", strings.Repeat("x", 64)} {
		if err := ValidateNodeName(name); KindOf(err) != Invalid || err == nil {
			t.Errorf("%q gave %v", name, err)
		}
	}
}
