package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestExpandPatternAsSbatch(t *testing.T) {
	plain := &core.Job{ID: 42, Spec: &core.JobSpec{Name: "my job", User: "alice"}}
	element := &core.Job{ID: 45, ArrayID: 42, ArrayIndex: 3, Spec: plain.Spec}
	tests := []struct {
		pattern       string
		plain, onElem string
	}{
		{"slurm-%j.out", "slurm-42.out", "slurm-45.out"},
		{"%A_%a", "42_4294967294", "42_3"},
		{"%6j %4A %2a", "000042 0042 4294967294", "000045 0042 03"},
		{"%x-%u@%N", "my job-alice@n1", "my job-alice@n1"},
		{"100%%", "100%", "100%"},
		{"%%j", "%j", "%j"},
		{"%99999999999999999999j", "0000000042", "0000000045"},
		{"%q %", "%q %", "%q %"},
		{"%12", "%12", "%12"},
		{"", "", ""},
	}
	for _, test := range tests {
		if got := expandPattern(test.pattern, plain, "n1"); got != test.plain {
			t.Errorf("%q of a plain job is %q, want %q", test.pattern, got, test.plain)
		}
		if got := expandPattern(test.pattern, element, "n1"); got != test.onElem {
			t.Errorf("%q of an element is %q, want %q", test.pattern, got, test.onElem)
		}
	}
}

func FuzzExpandPattern(f *testing.F) {
	for _, seed := range []string{"slurm-%j.out", "%A_%4a", "%%%", "%", "%9999999999j", "%é", "\xff%\xff"} {
		f.Add(seed)
	}
	job := &core.Job{ID: 42, Spec: &core.JobSpec{Name: "x", User: "u"}}
	f.Fuzz(func(t *testing.T, pattern string) {
		got := expandPattern(pattern, job, "n1")
		if !strings.Contains(pattern, "%") && got != pattern {
			t.Errorf("%q without patterns became %q", pattern, got)
		}
		if len(got) > (len(pattern)+1)*maxPatternWidth {
			t.Errorf("%q grew to %d bytes", pattern, len(got))
		}
	})
}

func TestJobEnvironmentDescribesTheJob(t *testing.T) {
	indices, err := core.NewIndexSet([]core.IndexRange{{First: 1, Last: 9, Step: 2}})
	if err != nil {
		t.Fatal(err)
	}
	job := &core.Job{
		ID: 45, ArrayID: 42, ArrayIndex: 3,
		Spec: &core.JobSpec{
			Name: "hello", User: "alice", UID: 1000, Partition: "main", Nodes: 2, Tasks: 4, CPUsPerTask: 3,
			MemoryMiB: 100, WorkDir: "/home/alice", Array: &core.ArraySpec{Indices: indices},
		},
		Placements: []core.Placement{{Node: "n1", Resources: core.Resources{CPUs: 6}}, {Node: "n2"}},
	}
	got := jobEnvironment(job, []string{"A=1", "PATH=/opt/bin", "SLURM_JOB_ID=7", "TMPDIR=/scratch"}, "n1", "/spool/jobs/45.1",
		account{name: "alice", home: "/home/alice"})
	want := []string{
		"A=1", "PATH=/opt/bin", "TMPDIR=/scratch", "HOME=/home/alice", "USER=alice", "LOGNAME=alice", "SHELL=/bin/sh",
		"ROWEL_JOB_RECORD=/spool/jobs/45.1", "SLURMD_NODENAME=n1", "ROWEL_NODENAME=n1",
	}
	for name, value := range map[string]string{
		"JOB_ID": "45", "JOBID": "45", "JOB_NAME": "hello", "JOB_USER": "alice", "JOB_UID": "1000",
		"JOB_PARTITION": "main", "JOB_NODELIST": "n1,n2", "NODELIST": "n1,n2", "JOB_NUM_NODES": "2", "NNODES": "2",
		"NTASKS": "4", "NPROCS": "4", "CPUS_PER_TASK": "3", "CPUS_ON_NODE": "6", "MEM_PER_NODE": "100",
		"SUBMIT_DIR": "/home/alice", "NODEID": "0", "PROCID": "0", "LOCALID": "0", "ARRAY_JOB_ID": "42",
		"ARRAY_TASK_ID": "3", "ARRAY_TASK_COUNT": "5", "ARRAY_TASK_MIN": "1", "ARRAY_TASK_MAX": "9",
	} {
		want = append(want, "SLURM_"+name+"="+value, "ROWEL_"+name+"="+value)
	}
	for _, variable := range want {
		if !slices.Contains(got, variable) {
			t.Errorf("%s is missing", variable)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d variables, want %d: %v", len(got), len(want), got)
	}
}
