package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

func TestLaunchReportsHowTheJobEnded(t *testing.T) {
	tests := []struct {
		name    string
		payload core.Payload
		want    core.JobReport
	}{
		{"success", script("exit 0"), core.JobReport{State: core.JobCompleted}},
		{"exit code", script("exit 7"), core.JobReport{State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: 7}},
		{"signal", script("kill -9 $$"), core.JobReport{
			State: core.JobFailed, Reason: core.ReasonRaisedSignal, Signal: 9, Message: "ended by SIGKILL",
		}},
		{"command", core.Payload{Argv: []string{"/bin/sh", "-c", "exit 3"}}, core.JobReport{
			State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: 3,
		}},
		{"command in PATH", core.Payload{Argv: []string{"true"}}, core.JobReport{State: core.JobCompleted}},
		{"script with arguments", core.Payload{Script: []byte("#!/bin/sh\nexit $2\n"), Argv: []string{"4", "5"}}, core.JobReport{
			State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: 5,
		}},
		{"interpreter of its own", core.Payload{Script: []byte("#!/usr/bin/env -S sh -e\nfalse\n")}, core.JobReport{
			State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: 1,
		}},
	}
	_, s := connected(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := testJob(t, core.JobID(i+1))
			s.launch(job, test.payload)
			test.want.Job, test.want.Attempt = job.ID, job.Attempt
			if diff := cmp.Diff(test.want, s.report()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaunchFailureNamesTheCause(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*core.Job)
		payload core.Payload
		want    string
	}{
		{"missing directory", func(j *core.Job) { j.Spec.WorkDir = "/no/such/dir" }, script(""), `working directory "/no/such/dir": no such file`},
		{"directory is a file", func(j *core.Job) { j.Spec.WorkDir = "/etc/passwd" }, script(""), `"/etc/passwd" is not a directory`},
		{"missing command", func(*core.Job) {}, core.Payload{Argv: []string{"no-such-command"}}, `"no-such-command" is not in the job's PATH`},
		{"missing program", func(*core.Job) {}, core.Payload{Argv: []string{"/no/such/program"}}, "start /no/such/program: no such file"},
		{"missing interpreter", func(*core.Job) {}, core.Payload{Script: []byte("#!/no/such/shell\n")}, `"#!/no/such/shell"`},
		{"output in missing directory", func(j *core.Job) { j.Spec.Output = "sub/out" }, script(""), "sub/out: no such file"},
		{"error is a directory", func(j *core.Job) { j.Spec.Error = "/tmp" }, script(""), "error file: open /tmp"},
		{"nothing to run", func(*core.Job) {}, core.Payload{}, "nothing to run"},
		{"no nodes", func(j *core.Job) { j.Spec.Nodes = 0 }, script(""), "not one that can run"},
	}
	_, s := connected(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := testJob(t, core.JobID(i+1))
			test.change(job)
			s.launch(job, test.payload)
			report := s.report()
			if report.State != core.JobFailed || report.Reason != core.ReasonJobLaunchFailure || !strings.Contains(report.Message, test.want) {
				t.Errorf("report %+v, want a launch failure about %s", report, test.want)
			}
		})
	}
}

func TestLaunchRunsInTheJobsDirectoryWithItsEnvironment(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 12)
	job.Spec.Output = "out.txt"
	payload := script(`pwd; echo "$GREETING $SLURM_JOB_ID $ROWEL_JOB_ID $SLURMD_NODENAME"; cat; echo end`)
	payload.Environment = []string{"GREETING=good day", "SLURM_JOB_ID=999"}
	s.launch(job, payload)
	s.report()
	want := job.Spec.WorkDir + "\ngood day 12 12 n1\nend\n"
	if diff := cmp.Diff(want, readFile(t, job.Spec.WorkDir+"/out.txt")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestLaunchWritesWhereTheJobAsks(t *testing.T) {
	tests := []struct {
		name          string
		output, error string
		want          map[string]string // in the job's directory
		spoolOut      string
		spoolErr      string
	}{
		{name: "nowhere in particular", spoolOut: "o\n", spoolErr: "e\n"},
		{name: "one file for both", output: "job-%j.%x", want: map[string]string{"job-ID.hello": "o\ne\n"}},
		{name: "two files", output: "o", error: "e", want: map[string]string{"o": "o\n", "e": "e\n"}},
		{name: "the same file twice", output: "f", error: "f", want: map[string]string{"f": "o\ne\n"}},
		{name: "error only", error: "e", want: map[string]string{"e": "e\n"}, spoolOut: "o\n"},
	}
	n, s := connected(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := testJob(t, core.JobID(i+1))
			job.Spec.Output, job.Spec.Error = test.output, test.error
			s.launch(job, script("echo o; echo e >&2"))
			s.report()
			for name, want := range test.want {
				path := filepath.Join(job.Spec.WorkDir, strings.ReplaceAll(name, "ID", job.ID.String()))
				if got := readFile(t, path); got != want {
					t.Errorf("%s holds %q, want %q", name, got, want)
				}
			}
			for suffix, want := range map[string]string{stdoutSuffix: test.spoolOut, stderrSuffix: test.spoolErr} {
				path := n.agent.spool.outputPath(jobKey{id: job.ID, attempt: 1}, suffix)
				if want != "" && readFile(t, path) != want {
					t.Errorf("%s holds %q, want %q", path, readFile(t, path), want)
				}
			}
		})
	}
}

func TestLaunchRefusesPipeThatNobodyReads(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	job.Spec.Output = "pipe"
	makePipe(t, job.Spec.WorkDir+"/pipe")
	s.launch(job, script(""))
	if report := s.report(); report.Reason != core.ReasonJobLaunchFailure {
		t.Errorf("report %+v, want a launch failure", report)
	}
}

func TestLaunchOfKnownAttemptRunsOnce(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	payload := script("echo run >> runs")
	s.launch(job, payload)
	s.launch(job, payload)
	first := s.reports()[0]
	s.launch(job, payload) // its end is not acknowledged
	s.acknowledge(first)
	s.launch(job, payload) // its end is acknowledged
	fence(t, s)
	if got := readFile(t, job.Spec.WorkDir+"/runs"); got != "run\n" {
		t.Errorf("runs: %q, want one", got)
	}
}

func TestLaunchOfOlderAttemptIsIgnored(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	job.Attempt = 2
	s.launch(job, script("echo second >> runs"))
	s.report()
	job.Attempt = 1
	s.launch(job, script("echo first >> runs"))
	fence(t, s)
	if got := readFile(t, job.Spec.WorkDir+"/runs"); got != "second\n" {
		t.Errorf("runs: %q, want the second attempt only", got)
	}
}

func TestLaunchOfNewerAttemptEndsTheOlder(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("touch first; exec sleep 300"))
	within(t, "the first attempt runs", func() bool { return exists(job.Spec.WorkDir + "/first") })
	job.Attempt = 2
	s.launch(job, script("touch second; exec sleep 300"))
	report := s.report()
	if report.Attempt != 1 || report.State != core.JobCancelled || !strings.Contains(report.Message, "attempt 2") {
		t.Errorf("report %+v, want that the first attempt made way for the second", report)
	}
	within(t, "the second attempt runs", func() bool { return exists(job.Spec.WorkDir + "/second") })
}

func TestAcknowledgedEndLeavesNothingButOutput(t *testing.T) {
	n, s := connected(t)
	s.launch(testJob(t, 1), script("echo hello"))
	s.report()
	within(t, "record and script are gone", func() bool {
		records, _ := os.ReadDir(n.cfg.SpoolDir + "/jobs")
		scripts, _ := os.ReadDir(n.cfg.SpoolDir + "/scripts")
		return len(records)+len(scripts) == 0
	})
	if got := readFile(t, n.cfg.SpoolDir+"/output/1.1.out"); got != "hello\n" {
		t.Errorf("output %q, want hello", got)
	}
}

func TestSweepRemovesOldOutputOfForgottenJobs(t *testing.T) {
	s, err := openSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, age := range map[string]time.Duration{"1.1.out": 8, "1.1.err": 6, "2.1.out": 9, "README": 30} {
		path := filepath.Join(s.dir, "output", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	held := func(key jobKey) bool { return key.id == 2 }
	if err := s.sweep(now.Add(-outputRetention), held); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.dir + "/output")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if diff := cmp.Diff([]string{"1.1.err", "2.1.out", "README"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestLaunchPassesOnNoDescriptors(t *testing.T) {
	n, s := connected(t)
	s.launch(testJob(t, 1), script("exec ls -l /proc/self/fd"))
	s.report()
	listing := readFile(t, filepath.Join(n.cfg.SpoolDir, "output", "1.1.out"))
	if got := strings.Count(listing, " -> "); got != 4 { // three streams and ls's own
		t.Errorf("%d descriptors, want 4:\n%s", got, listing)
	}
}

// fence runs a job of another number to its end: everything told before was heard.
func fence(t *testing.T, s *fakeStream) {
	t.Helper()
	job := testJob(t, 1_000_000)
	s.launch(job, script(""))
	if report := s.report(); report.Job != job.ID {
		t.Fatalf("report %+v of a job that should not have run", report)
	}
}
