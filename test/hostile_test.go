package test

import (
	"bytes"
	"crypto/rand"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// TestGarbageOnEveryPortHarmsNobody writes a MiB of noise to each port, and then runs a
// job.
func TestGarbageOnEveryPortHarmsNobody(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	r := c.replicas[0]
	noise := make([]byte, 1<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"api": r.api, "raft": r.raft, "probes": r.probes, "metrics": r.metrics} {
		for _, prefix := range []string{"", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
			conn, err := net.DialTimeout("tcp", address, time.Second)
			if err != nil {
				t.Fatalf("%s port: %v", name, err)
			}
			if err := conn.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write(append([]byte(prefix), noise...)) // the other end may hang up first
			_, _ = conn.Read(make([]byte, 1024))
			conn.Close()
		}
	}
	if !r.ready() {
		t.Error("the controller is not ready after the noise")
	}
	if job := c.finish(c.submit(c.script("after", "exit 3"))[0], 20*time.Second); job.ExitCode != 3 {
		t.Errorf("the job after the noise ended %s with %d", job.State, job.ExitCode)
	}
}

// TestHostileJobsAreRefusedInASentence gives the CLI what no controller should take.
func TestHostileJobsAreRefusedInASentence(t *testing.T) {
	c := newCluster(t, 1, "")
	cases := []struct {
		name  string
		stdin string
		args  []string
		code  int
		says  string
	}{
		{"NUL bytes", "#!/bin/sh\necho a\x00b\n", []string{"submit"}, core.ExitBadInput, "NUL"},
		{"no interpreter", "echo hello\n", []string{"submit"}, core.ExitBadInput, "#!"},
		{"negative time limit", "", []string{"submit", "--time=-5", "--wrap", "true"}, core.ExitUsage, "time"},
		{"time limit in words", "", []string{"submit", "--time", "soon", "--wrap", "true"}, core.ExitUsage, "soon"},
		{"name of 10 kB", "", []string{"submit", "-J", strings.Repeat("x", 10_000), "--wrap", "true"}, core.ExitUsage, "name"},
		{"unknown option", "", []string{"submit", "--frobnicate", "--wrap", "true"}, core.ExitUsage, "frobnicate"},
		{"unknown option in the script", "#!/bin/sh\n#SBATCH --frobnicate=3\n", []string{"submit"}, core.ExitBadInput, "frobnicate"},
		{"no nodes", "", []string{"submit", "-N", "0", "--wrap", "true"}, core.ExitUsage, "nodes"},
		{"unknown partition", "", []string{"submit", "-p", "nowhere", "--wrap", "true"}, core.ExitUsage, "nowhere"},
		{"script of 5 MiB", "#!/bin/sh\n" + strings.Repeat("# padding\n", 1<<19), []string{"submit"}, core.ExitBadInput, "4 MiB"},
		{"unknown job", "", []string{"job", "show", "4242"}, core.ExitFailure, "4242"},
		{"job that is no number", "", []string{"cancel", "all"}, core.ExitUsage, "all"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, code := cli(t, c, tc.stdin, tc.args...)
			if code != tc.code || !strings.Contains(strings.ToLower(stderr), strings.ToLower(tc.says)) {
				t.Errorf("exit %d, want %d; stderr %q should mention %q; stdout %q", code, tc.code, stderr, tc.says, stdout)
			}
			if lines := strings.Count(strings.TrimSpace(stderr), "\n") + 1; lines > 3 || len(stderr) > 1000 {
				t.Errorf("the error is %d lines and %d bytes long", lines, len(stderr))
			}
		})
	}
	if jobs := c.history(); len(jobs) != 0 {
		t.Errorf("%d refused jobs are queued", len(jobs))
	}
}

// TestJobThatNothingCanHoldSaysWhy asks for more than any node has.
func TestJobThatNothingCanHoldSaysWhy(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	job := c.script("big", "true")
	job.Spec.CPUsPerTask = 999
	id := c.submit(job)[0]
	eventually(t, 10*time.Second, "the job has a reason", func() bool {
		jobs, _, err := c.client.Job(t.Context(), core.JobRef{ID: id}, false)
		return err == nil && jobs[0].Reason == core.ReasonBadConstraints
	})
	stdout, _, _ := cli(t, c, "", "queue")
	if !strings.Contains(stdout, "BadConstraints") {
		t.Errorf("queue does not say why:\n%s", stdout)
	}
	stdout, _, _ = cli(t, c, "", "job", "show", id.String())
	if !strings.Contains(stdout, "999") {
		t.Errorf("job show does not say what is too much:\n%s", stdout)
	}
}

// TestMissingWorkingDirectoryFailsTheJob names the directory, and the next job runs.
func TestMissingWorkingDirectoryFailsTheJob(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	job := c.script("lost", "true")
	job.Spec.WorkDir = "/does/not/exist"
	ended := c.finish(c.submit(job)[0], 20*time.Second)
	if ended.State != core.JobFailed || ended.Reason != core.ReasonJobLaunchFailure || !strings.Contains(ended.Message, "/does/not/exist") {
		t.Errorf("job ended %s (%s: %s), want FAILED (JobLaunchFailure) naming the directory", ended.State, ended.Reason, ended.Message)
	}
	if next := c.finish(c.submit(c.script("next", ""))[0], 20*time.Second); next.State != core.JobCompleted {
		t.Errorf("the next job ended %s", next.State)
	}
}

// TestOutputReachesTheClient compares every byte of both streams.
func TestOutputReachesTheClient(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	stdout, stderr, code := cli(t, c, "", "run", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo oops >&2; exit 9")
	var want bytes.Buffer
	for i := range 20000 {
		want.WriteString("line ")
		want.WriteString(strconv.Itoa(i))
		want.WriteByte('\n')
	}
	if stdout != want.String() {
		t.Errorf("stdout has %d bytes, want %d", len(stdout), want.Len())
	}
	if !strings.Contains(stderr, "oops") || code != 9 {
		t.Errorf("exit %d, want 9; stderr %q", code, stderr)
	}
}
