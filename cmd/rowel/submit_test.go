package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// submitted returns the one submission that the controller got.
func (f *fakeAPI) submission(t *testing.T) core.Submission {
	t.Helper()
	if len(f.submitted) != 1 {
		t.Fatalf("%d submissions arrived, want 1", len(f.submitted))
	}
	s, err := wire.ToSubmission(f.submitted[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSubmitSendsAScriptWithItsArguments(t *testing.T) {
	f := newFakeAPI(t)
	dir := t.TempDir()
	script := writeFile(t, filepath.Join(dir, "train.sh"), "#!/bin/sh\n#SBATCH --time=30 -n2\n#SBATCH --mem=1G\ntrue\n")
	t.Chdir(dir)

	out := f.run(t, "submit", "--time=10", "-c4", script, "fold-1", "--verbose").ok(t)

	if out != "Submitted batch job 7\n" {
		t.Errorf("printed %q", out)
	}
	got := f.submission(t)
	want := core.JobSpec{
		Name: "train.sh", User: userName(), UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Partition: "main",
		Nodes: 1, Tasks: 2, CPUsPerTask: 4, MemoryMiB: 1024, TimeLimit: 10 * time.Minute, WorkDir: dir, Output: "slurm-%j.out",
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"fold-1", "--verbose"}, got.Payload.Argv); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(string(got.Payload.Script), "#!/bin/sh\n") || !slices.Contains(got.Payload.Environment, "ROWEL_ADDR=") {
		t.Errorf("script %q, environment %q", got.Payload.Script, got.Payload.Environment)
	}
}

func TestSubmitNamesTheJobAfterWhatItRuns(t *testing.T) {
	for want, words := range map[string][]string{
		"make": {"submit", "--", "/usr/bin/make", "all"},
		"wrap": {"submit", "--wrap", "echo hello"},
		"mine": {"submit", "-J", "mine", "--wrap", "echo hello"},
	} {
		f := newFakeAPI(t)
		f.run(t, words...).ok(t)
		if got := f.submission(t).Spec.Name; got != want {
			t.Errorf("%q is called %q, want %q", words, got, want)
		}
	}
}

func TestSubmitReadsAScriptFromStandardInput(t *testing.T) {
	f := newFakeAPI(t)
	script := "#!/bin/sh\n#SBATCH -J from-script\necho $1\n"
	out := rowelReading(t, script, "submit", "--address", f.address, "--parsable", "-", "arg").ok(t)
	got := f.submission(t)
	if out != "7\n" || got.Spec.Name != "from-script" || string(got.Payload.Script) != script || !slices.Equal(got.Payload.Argv, []string{"arg"}) {
		t.Errorf("printed %q, submitted %+v", out, got)
	}
}

func TestSubmitOfAnArrayHasAnOutputForEachElement(t *testing.T) {
	f := newFakeAPI(t)
	f.run(t, "submit", "-a", "0-99%10", "--wrap", "true").ok(t)
	got := f.submission(t).Spec
	if got.Output != "slurm-%A_%a.out" || got.Array.Description != "0-99%10" || got.Array.MaxAtOnce != 10 || got.Array.Indices.Len() != 100 {
		t.Errorf("got %+v, array %+v", got, got.Array)
	}
}

func TestSubmitTakesTheWorkingDirectoryFromWhereTheUserStands(t *testing.T) {
	f := newFakeAPI(t)
	dir := t.TempDir()
	t.Chdir(dir)
	f.run(t, "submit", "-D", "runs/1", "--wrap", "true").ok(t)
	if got := f.submission(t).Spec.WorkDir; got != filepath.Join(dir, "runs/1") {
		t.Errorf("works in %s", got)
	}
}

func TestSubmitSpreadsATaskOverEachNode(t *testing.T) {
	f := newFakeAPI(t)
	f.run(t, "submit", "-N3", "--wrap", "true").ok(t)
	if got := f.submission(t).Spec; got.Tasks != 3 {
		t.Errorf("%d tasks on %d nodes", got.Tasks, got.Nodes)
	}
}

func TestSubmitRefusesBadScriptsWith65(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return writeFile(t, filepath.Join(dir, name), text) }
	for script, want := range map[string]string{
		file("none", "echo hello\n"):                               "none: the script does not start with #!",
		file("nul", "#!/bin/sh\n\x00\n"):                           "nul: the script has a NUL byte at offset 10",
		file("empty", ""):                                          "empty: the script is empty",
		file("gpu", "#!/bin/sh\n#SBATCH --gres=gpu\n"):             `gpu: line 2: option "--gres" is not supported`,
		file("time", "#!/bin/sh\n#SBATCH --time=-1\n"):             `time: --time: "-1" is negative`,
		file("large", "#!/bin/sh\n"+strings.Repeat("#", 4<<20)):    "large: the script is larger than 4 MiB",
		file("nodes", "#!/bin/sh\n#SBATCH -N2 -n1\n"):              "1 tasks cannot cover 2 nodes",
		file("both", "#!/bin/sh\n#SBATCH --mem=1 --mem-per-cpu=1"): "both: --mem and --mem-per-cpu exclude each other",
		filepath.Join(dir, "missing"):                              "missing: no such file or directory",
		dir:                                                        "is a directory",
	} {
		rowel(t, "submit", script).fails(t, 65, want)
	}
}

func TestSubmitRefusesBadOptionsWith64(t *testing.T) {
	for want, words := range map[string][]string{
		`submit: --time: "-1" is negative`:           {"--time=-1", "--wrap", "true"},
		`submit: --ntasks: "0" is not`:               {"-n0", "--wrap", "true"},
		`submit: --mem: "lots" is not`:               {"--mem", "lots", "--wrap", "true"},
		`submit: --array: array "3-1"`:               {"-a", "3-1", "--wrap", "true"},
		`submit: --nice: "-5" is not`:                {"--nice=-5", "--wrap", "true"},
		`submit: --export: "A,,B" has an empty`:      {"--export=A,,B", "--wrap", "true"},
		`submit: --wrap takes the place of`:          {"--wrap", "true", "x.sh"},
		`submit: --wrap: the command is empty`:       {"--wrap", ""},
		`submit: the command is missing`:             {"--"},
		`submit: job name is 10000 bytes long`:       {"-J", strings.Repeat("x", 10000), "--wrap", "true"},
		`submit: argument "\xff" is not valid UTF-8`: {"--", "echo", "\xff"},
		`--mem and --mem-per-cpu exclude each`:       {"--mem=1", "--mem-per-cpu=1", "--wrap", "true"},
		`submit: partition "gpu" does not exist`:     {"-p", "gpu", "--wrap", "true"},
	} {
		rowel(t, append([]string{"submit"}, words...)...).fails(t, 64, want)
	}
}

func TestSubmitCommandLineMemoryReplacesTheScripts(t *testing.T) {
	f := newFakeAPI(t)
	script := writeFile(t, filepath.Join(t.TempDir(), "x.sh"), "#!/bin/sh\n#SBATCH --mem=1G\n")
	f.run(t, "submit", "--mem-per-cpu=100M", script).ok(t)
	if got := f.submission(t).Spec; got.MemoryMiB != 0 || got.MemPerCPU != 100 {
		t.Errorf("got %d and %d per CPU", got.MemoryMiB, got.MemPerCPU)
	}
}

func TestSubmitWaitExitsAsTheJobDid(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{endedJob(core.JobCompleted, 0, 0), endedJob(core.JobFailed, 3, 0)}
	f.jobs[1].Reason = core.ReasonNonZeroExitCode
	got := f.run(t, "submit", "--wait", "--wrap", "exit 3")
	if diff := cmp.Diff(result{code: 3, stdout: "Submitted batch job 7\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
}
