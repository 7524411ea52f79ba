package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// TestBatchScriptAsUsersWriteIt submits a script with #SBATCH lines and looks at what a
// Slurm user would look at.
func TestBatchScriptAsUsersWriteIt(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 4)
	script := writeFile(t, c.dir, "train.sh", `#!/bin/bash
#SBATCH --job-name=train
#SBATCH -n 2 --cpus-per-task=2
#SBATCH --mem=100M
#SBATCH -t 5
#SBATCH -o out-%j-%x.txt
echo "$SLURM_JOB_NAME $SLURM_NTASKS $SLURM_CPUS_PER_TASK $1 $(basename "$PWD") $ROWEL_JOB_ID"
`, 0o644)
	stdout, stderr, code := cli(t, c, "", "submit", script, "fold-1")
	if stdout != "Submitted batch job 1\n" || code != 0 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	job := c.finish(1, 20*time.Second)
	if job.State != core.JobCompleted {
		t.Fatalf("job ended %s (%s)", job.State, job.Message)
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "out-1-train.txt"))
	if want := "train 2 2 fold-1 " + filepath.Base(c.dir) + " 1\n"; err != nil || string(text) != want {
		t.Errorf("output %q (%v), want %q", text, err, want)
	}
	if got := job.Placements[0].Resources; got != (core.Resources{CPUs: 4, MemoryMiB: 100}) {
		t.Errorf("the job held %v", got)
	}
	stdout, _, _ = cli(t, c, "", "history", "--json")
	var history struct {
		Jobs []struct {
			State string `json:"state"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(stdout), &history); err != nil || len(history.Jobs) != 1 || history.Jobs[0].State != "COMPLETED" {
		t.Errorf("history --json: %v\n%s", err, stdout)
	}
	stdout, _, code = cli(t, c, "", "logs", "1")
	if code != 0 || !strings.HasPrefix(stdout, "train 2 2") {
		t.Errorf("logs: exit %d, %q", code, stdout)
	}
}

func TestArrayRunsEachElementOnceAndNoMoreThanItsLimit(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 8)
	marks := marksDir(t, c)
	stdout, stderr, code := cli(t, c, "", "submit", "--parsable", "-a", "0-9:3,20-39%4", "-o", "/dev/null",
		"--wrap", "echo ran >> "+marks+"/$SLURM_ARRAY_TASK_ID; sleep 0.05")
	if strings.TrimSpace(stdout) != "1" || code != 0 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := cli(t, c, "", "wait", "1"); code != 0 {
		t.Fatalf("wait: exit %d: %s", code, stderr)
	}
	entries, err := os.ReadDir(marks)
	if err != nil || len(entries) != 24 {
		t.Errorf("%d elements ran (%v), want 24", len(entries), err)
	}
	for _, entry := range entries {
		if text, err := os.ReadFile(filepath.Join(marks, entry.Name())); err != nil || string(text) != "ran\n" {
			t.Errorf("element %s: %q (%v)", entry.Name(), text, err)
		}
	}
	held := 0
	for _, step := range placementSteps(c.history()) {
		if held += step.jobs; held > 4 {
			t.Errorf("%d elements ran at once, the limit is 4", held)
			break
		}
	}
}

func TestDrainedNodeTakesNoJobsUntilResumed(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	if _, stderr, code := cli(t, c, "", "node", "drain", "n1", "--reason", "new disk"); code != 0 {
		t.Fatalf("drain: exit %d: %s", code, stderr)
	}
	id := c.submit(c.script("later", ""))[0]
	eventually(t, 10*time.Second, "the job waits for the node", func() bool {
		jobs, _, err := c.client.Job(t.Context(), core.JobRef{ID: id}, false)
		return err == nil && jobs[0].Reason == core.ReasonNodesNotAvailable
	})
	if stdout, _, _ := cli(t, c, "", "nodes"); !strings.Contains(stdout, "new disk") {
		t.Errorf("nodes does not show why:\n%s", stdout)
	}
	if _, stderr, code := cli(t, c, "", "node", "resume", "n1"); code != 0 {
		t.Fatalf("resume: exit %d: %s", code, stderr)
	}
	if job := c.finish(id, 20*time.Second); job.State != core.JobCompleted {
		t.Errorf("job ended %s", job.State)
	}
}

// TestJobOverTwoNodesHoldsBoth runs its script on the first.
func TestJobOverTwoNodesHoldsBoth(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	c.addAgent("n2", 2)
	job := c.script("gang", "true")
	job.Spec.Nodes, job.Spec.Tasks = 2, 4
	ended := c.finish(c.submit(job)[0], 20*time.Second)
	if ended.State != core.JobCompleted || len(ended.Placements) != 2 || ended.Placements[0].CPUs != 2 {
		t.Errorf("job ended %s with placements %v", ended.State, ended.Placements)
	}
}
