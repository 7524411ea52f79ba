package core

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds on what one job may ask for. They keep a record small and arithmetic far from
// overflow; what a site allows is for its policies.
const (
	MaxNameBytes       = 200
	MaxPathBytes       = 4096
	MaxCommentBytes    = 1024
	MaxRequestKeyBytes = 64
	MaxNodesPerJob     = 1 << 16
	MaxTasksPerJob     = 1 << 20
	MaxCPUsPerTask     = 1 << 16
	MaxMemoryMiB       = 1 << 32
	MaxTimeLimit       = 10 * 365 * 24 * time.Hour
	MaxSubmissions     = 10_000  // in one SubmitJobs
	MaxPayloadBytes    = 8 << 20 // script, arguments and environment together
)

// Validate checks that the job could be queued, whatever the cluster looks like, and
// returns an Invalid error that names the field, or nil.
func (s *JobSpec) Validate() error {
	texts := []struct {
		field, value string
		limit        int
	}{
		{"job name", s.Name, MaxNameBytes},
		{"user", s.User, MaxNameBytes},
		{"comment", s.Comment, MaxCommentBytes},
		{"working directory", s.WorkDir, MaxPathBytes},
		{"output", s.Output, MaxPathBytes},
		{"error", s.Error, MaxPathBytes},
	}
	for _, text := range texts {
		if err := validateText(text.field, text.value, text.limit); err != nil {
			return err
		}
	}
	if s.Name == "" {
		return Errorf(Invalid, "the job has no name")
	}
	if s.WorkDir != "" && !path.IsAbs(s.WorkDir) {
		return Errorf(Invalid, "working directory %q is not an absolute path", s.WorkDir)
	}
	if s.Partition != DefaultPartition {
		return Errorf(Invalid, "partition %.80q does not exist; this cluster has: %s", s.Partition, DefaultPartition)
	}
	if s.TimeLimit < 0 || s.TimeLimit > MaxTimeLimit || s.TimeLimit%time.Second != 0 {
		return Errorf(Invalid, "time limit %v is not between one second and ten years", s.TimeLimit)
	}
	if s.Array != nil {
		if err := s.Array.validate(); err != nil {
			return err
		}
	}
	return s.validateCounts()
}

func (a *ArraySpec) validate() error {
	if n := a.Indices.Len(); n == 0 || n > MaxArrayElements {
		return Errorf(Invalid, "an array has 1 to %d elements, not %d", MaxArrayElements, n)
	}
	if n := len(a.Indices.Ranges()); n > MaxArrayRanges {
		return Errorf(Invalid, "an array has at most %d ranges of indices, not %d", MaxArrayRanges, n)
	}
	return validateText("array", a.Description, MaxPathBytes)
}

func (s *JobSpec) validateCounts() error {
	counts := []struct {
		field       string
		value       uint64
		least, most uint64
	}{
		{"nodes", uint64(s.Nodes), 1, MaxNodesPerJob},
		{"tasks", uint64(s.Tasks), 1, MaxTasksPerJob},
		{"CPUs per task", uint64(s.CPUsPerTask), 1, MaxCPUsPerTask},
		{"memory in MiB", s.MemoryMiB, 0, MaxMemoryMiB},
		{"memory per CPU in MiB", s.MemPerCPU, 0, MaxMemoryMiB},
		{"nice", uint64(s.Nice), 0, BasePriority},
	}
	for _, c := range counts {
		if c.value < c.least || c.value > c.most {
			return Errorf(Invalid, "%s must be from %d to %d, not %d", c.field, c.least, c.most, c.value)
		}
	}
	if s.Tasks < s.Nodes {
		return Errorf(Invalid, "%d tasks cannot cover %d nodes: ask for at least one task on each", s.Tasks, s.Nodes)
	}
	if cpus := uint64(s.Tasks) * uint64(s.CPUsPerTask); cpus > MaxTasksPerJob {
		return Errorf(Invalid, "the job asks for %d CPUs, more than %d", cpus, MaxTasksPerJob)
	}
	return nil
}

func validateText(field, value string, limit int) error {
	if len(value) > limit {
		return Errorf(Invalid, "%s is %d bytes long, the limit is %d", field, len(value), limit)
	}
	if !utf8.ValidString(value) {
		return Errorf(Invalid, "%s is not valid UTF-8", field)
	}
	if at := strings.IndexFunc(value, unicode.IsControl); at >= 0 {
		return Errorf(Invalid, "%s has a control character at byte %d", field, at+1)
	}
	return nil
}

// Validate checks what a job runs: a script starts with #!, and nothing has NUL bytes,
// which no operating system could pass on.
func (p *Payload) Validate() error {
	if size := p.Size(); size > MaxPayloadBytes {
		return Errorf(Invalid, "script, arguments and environment have %d bytes together, the limit is %d", size, MaxPayloadBytes)
	}
	switch {
	case len(p.Script) == 0 && len(p.Argv) == 0:
		return Errorf(Invalid, "the job has nothing to run: give a script or a command")
	case len(p.Script) == 0 && p.Argv[0] == "":
		return Errorf(Invalid, "the command is empty")
	}
	if at := bytes.IndexByte(p.Script, 0); at >= 0 {
		return Errorf(Invalid, "the script has a NUL byte at offset %d: it is not a text file", at)
	}
	if len(p.Script) > 0 && !bytes.HasPrefix(p.Script, []byte("#!")) {
		return Errorf(Invalid, "the script does not start with #!, so nothing says what runs it: add a first line such as #!/bin/sh")
	}
	for i, arg := range p.Argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return Errorf(Invalid, "argument %d has a NUL byte", i)
		}
		if !utf8.ValidString(arg) {
			return Errorf(Invalid, "argument %d is not valid UTF-8", i)
		}
	}
	for _, variable := range p.Environment {
		name, _, ok := strings.Cut(variable, "=")
		if !ok || name == "" || strings.IndexByte(variable, 0) >= 0 {
			return Errorf(Invalid, "environment entry %.40q is not NAME=value", variable)
		}
		if !utf8.ValidString(variable) {
			return Errorf(Invalid, "environment variable %.40q is not valid UTF-8", name)
		}
	}
	return nil
}

// ValidateNodeName checks a name that an agent wants to register under.
func ValidateNodeName(name string) error {
	if name == "" || len(name) > 63 {
		return Errorf(Invalid, "node name %.80q must have 1 to 63 characters", name)
	}
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r) {
			return Errorf(Invalid, "node name %q may have letters, digits, '-', '_' and '.', not %s", name, fmt.Sprintf("%q", r))
		}
	}
	return nil
}
