package test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// expectation is how a job of a workload must end.
type expectation struct {
	state    core.JobState
	exitCode int32
	ran      int // times its script may have run
}

func TestThousandTrueJobsComplete(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 8)
	c.addAgent("n2", 8)

	var jobs []core.Submission
	for i := range 1000 {
		job := c.script(fmt.Sprintf("true-%d", i), "")
		job.Payload = core.Payload{Argv: []string{"/bin/true"}}
		jobs = append(jobs, job)
	}
	ids := c.submit(jobs...)
	expected := make(map[core.JobID]expectation)
	for _, id := range ids {
		expected[id] = expectation{state: core.JobCompleted}
	}
	c.checkEnds(expected, 3*time.Minute)
	c.checkNeverOversubscribed()
}

// TestMixedJobsReachTheRightEnds sends 200 scripts that succeed, fail, are killed, run
// into their time limit, or are cancelled while queued or running.
func TestMixedJobsReachTheRightEnds(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 4)
	c.addAgent("n2", 4)
	marks := filepath.Join(c.dir, "marks")
	if err := os.Mkdir(marks, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := "echo ran >> " + marks + "/$SLURM_JOB_NAME\n"

	expected := make(map[core.JobID]expectation)
	names := make(map[core.JobID]string)
	var cancelRunning, cancelQueued []core.JobID
	for i := range 200 {
		name := fmt.Sprintf("job-%d", i)
		var job core.Submission
		var want expectation
		switch i % 10 {
		case 0, 1, 2, 3:
			job, want = c.script(name, mark+"sleep 0.05"), expectation{core.JobCompleted, 0, 1}
		case 4, 5:
			code := int32(i%7 + 1)
			job, want = c.script(name, mark+fmt.Sprintf("exit %d", code)), expectation{core.JobFailed, code, 1}
		case 6:
			job, want = c.script(name, mark+"kill -KILL $$"), expectation{core.JobFailed, 0, 1}
		case 7:
			job, want = c.script(name, mark+"trap '' TERM; sleep 60 & wait; sleep 60"), expectation{core.JobTimeout, 0, 1}
			job.Spec.TimeLimit = time.Second
		case 8:
			job, want = c.script(name, mark+"sleep 60"), expectation{core.JobCancelled, 0, 1}
		case 9:
			job, want = c.script(name, mark), expectation{core.JobCancelled, 0, 0}
			job.Spec.CPUsPerTask = 64 // more than any node has: it stays queued
		}
		id := c.submit(job)[0]
		expected[id], names[id] = want, name
		switch i % 10 {
		case 8:
			cancelRunning = append(cancelRunning, id)
		case 9:
			cancelQueued = append(cancelQueued, id)
		}
	}
	c.cancel(cancelQueued...)
	for _, id := range cancelRunning {
		eventually(t, time.Minute, fmt.Sprintf("job %d runs its script", id), func() bool {
			_, err := os.Stat(filepath.Join(marks, names[id]))
			return err == nil
		})
		c.cancel(id)
	}
	c.checkEnds(expected, 3*time.Minute)
	for id, want := range expected {
		text, err := os.ReadFile(filepath.Join(marks, names[id]))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if ran := strings.Count(string(text), "ran"); ran != want.ran {
			t.Errorf("job %d ran %d times, want %d", id, ran, want.ran)
		}
	}
	c.checkNeverOversubscribed()
}

func (c *cluster) cancel(ids ...core.JobID) {
	c.t.Helper()
	var refs []core.JobRef
	for _, id := range ids {
		refs = append(refs, core.JobRef{ID: id})
	}
	outcomes, err := c.client.Cancel(c.t.Context(), refs)
	if err != nil {
		c.t.Fatalf("cancel: %v", err)
	}
	for i, err := range outcomes {
		if err != nil {
			c.t.Fatalf("cancel job %d: %v", ids[i], err)
		}
	}
}

// checkEnds waits for jobs and compares how they ended with what was expected, and
// their sum with what history has.
func (c *cluster) checkEnds(expected map[core.JobID]expectation, limit time.Duration) {
	c.t.Helper()
	deadline := time.Now().Add(limit)
	for id, want := range expected {
		job := c.finish(id, time.Until(deadline))
		if job.State != want.state || job.ExitCode != want.exitCode {
			c.t.Errorf("job %d ended %s with exit code %d (%s: %s), want %s with %d",
				id, job.State, job.ExitCode, job.Reason, job.Message, want.state, want.exitCode)
		}
		if job.Attempt > 1 {
			c.t.Errorf("job %d was started %d times", id, job.Attempt)
		}
	}
	sums := make(map[core.JobState]int)
	for _, job := range c.history() {
		if _, ours := expected[job.ID]; ours {
			sums[job.State]++
		}
	}
	wanted := make(map[core.JobState]int)
	for _, want := range expected {
		wanted[want.state]++
	}
	for state, n := range wanted {
		if sums[state] != n {
			c.t.Errorf("history has %d jobs %s, want %d", sums[state], state, n)
		}
	}
}

func (c *cluster) history() []*core.Job {
	c.t.Helper()
	jobs, truncated, err := c.client.History(c.t.Context(), api.HistoryFilter{Limit: 100_000})
	if err != nil || truncated {
		c.t.Fatalf("history: truncated %v, error %v", truncated, err)
	}
	return jobs
}

// checkNeverOversubscribed replays history: at no moment may the jobs on a node have
// held more than it has.
func (c *cluster) checkNeverOversubscribed() {
	c.t.Helper()
	nodes, err := c.client.Nodes(c.t.Context(), false)
	if err != nil {
		c.t.Fatal(err)
	}
	steps := make(map[string][]step)
	for _, s := range placementSteps(c.history()) {
		steps[s.node] = append(steps[s.node], s)
	}
	for _, node := range nodes {
		held := 0
		for _, s := range steps[node.Name] {
			if held += s.cpus; held > int(node.Capacity.CPUs) {
				c.t.Errorf("node %s held %d CPUs of %d at %v", node.Name, held, node.Capacity.CPUs, s.at)
				break
			}
		}
		if node.Allocated.CPUs != 0 || node.Jobs != 0 {
			c.t.Errorf("node %s still holds %d CPUs for %d jobs when all are over", node.Name, node.Allocated.CPUs, node.Jobs)
		}
	}
}

// step is a placement that began, or ended: then its numbers are negative.
type step struct {
	at         time.Time
	node       string
	jobs, cpus int
}

// placementSteps returns every step of jobs in order of time, ends before beginnings.
func placementSteps(jobs []*core.Job) []step {
	var steps []step
	for _, job := range jobs {
		for _, p := range job.Placements {
			steps = append(steps, step{job.StartedAt, p.Node, 1, int(p.CPUs)}, step{job.EndedAt, p.Node, -1, -int(p.CPUs)})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.cpus, b.cpus)) })
	return steps
}
