package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// acknowledged collects the jobs that a controller said it has.
type acknowledged struct {
	mu    sync.Mutex
	names map[core.JobID]string // guarded by mu
}

func (a *acknowledged) add(id core.JobID, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[id] = name
}

// submitUntil sends one job after the other from several clients, each with the key it
// would retry with, until ctx is done. Every job leaves a mark each time it runs.
func (c *cluster) submitUntil(ctx context.Context, clients int, got *acknowledged, marks string) *sync.WaitGroup {
	var group sync.WaitGroup
	for w := range clients {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("w%d-%d", w, i)
				job := c.script(name, "echo ran >> "+marks+"/$SLURM_JOB_ID-$SLURM_JOB_NAME")
				submitted, err := c.client.Submit(context.WithoutCancel(ctx), api.NewRequestKey(), []core.Submission{job})
				if err != nil {
					c.t.Errorf("submit %s with retries: %v", name, err)
					return
				}
				got.add(submitted.Jobs[0], name)
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	return &group
}

// checkRanOnce waits for every acknowledged job and counts its marks.
func (c *cluster) checkRanOnce(got *acknowledged, marks string) {
	c.t.Helper()
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.names) == 0 {
		c.t.Fatal("no submission was acknowledged")
	}
	deadline := time.Now().Add(2 * time.Minute)
	for id, name := range got.names {
		job := c.finish(id, time.Until(deadline))
		if job.Spec.Name != name {
			c.t.Errorf("job %d was acknowledged as %s and is now %s", id, name, job.Spec.Name)
		}
		if job.State != core.JobCompleted {
			c.t.Errorf("job %d ended %s (%s: %s)", id, job.State, job.Reason, job.Message)
		}
		text, err := os.ReadFile(filepath.Join(marks, fmt.Sprintf("%d-%s", id, name)))
		if ran := strings.Count(string(text), "ran"); ran != 1 {
			c.t.Errorf("job %d ran %d times (%v)", id, ran, err)
		}
	}
	c.t.Logf("%d acknowledged jobs ran once each", len(got.names))
}

func marksDir(t *testing.T, c *cluster) string {
	t.Helper()
	dir := filepath.Join(c.dir, "marks")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestKilledControllerForgetsNothingAcknowledged kills the only controller 20 times, at
// random moments of a stream of submissions.
func TestKilledControllerForgetsNothingAcknowledged(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 4)
	marks, random := marksDir(t, c), seeded(t)
	got := &acknowledged{names: make(map[core.JobID]string)}
	ctx, cancel := context.WithCancel(t.Context())
	group := c.submitUntil(ctx, 4, got, marks)
	for range 20 {
		<-time.After(time.Duration(50+random.IntN(500)) * time.Millisecond)
		c.replicas[0].kill()
		c.replicas[0].start()
		eventually(t, 20*time.Second, "the controller is ready again", c.replicas[0].ready)
	}
	cancel()
	group.Wait()
	c.checkRanOnce(got, marks)
}

// TestKilledLeaderLosesNothingAcknowledged kills the leader of three while clients that
// know all three go on submitting. No client may see an error that its own retry with
// the same request key does not cure.
func TestKilledLeaderLosesNothingAcknowledged(t *testing.T) {
	c := newCluster(t, 3, "")
	c.addAgent("n1", 4)
	c.addAgent("n2", 4)
	marks, random := marksDir(t, c), seeded(t)
	got := &acknowledged{names: make(map[core.JobID]string)}
	ctx, cancel := context.WithCancel(t.Context())
	group := c.submitUntil(ctx, 4, got, marks)
	for range 5 {
		<-time.After(time.Duration(300+random.IntN(700)) * time.Millisecond)
		leader := c.leader()
		leader.kill()
		<-time.After(time.Duration(random.IntN(2000)) * time.Millisecond)
		leader.start()
		eventually(t, 30*time.Second, leader.name+" is ready again", leader.ready)
	}
	cancel()
	group.Wait()
	c.checkRanOnce(got, marks)
}

// TestJobsOutliveTheirController ends a job while its controller is dead: the end is
// reported when the controller is back.
func TestJobsOutliveTheirController(t *testing.T) {
	c := newCluster(t, 1, "")
	c.addAgent("n1", 2)
	release := filepath.Join(c.dir, "release")
	job := c.script("outlive", "while [ ! -e "+release+" ]; do sleep 0.05; done; touch "+release+".done; exit 7")
	id := c.submit(job)[0]
	eventually(t, 10*time.Second, "the job runs", func() bool {
		jobs, _, err := c.client.Job(t.Context(), core.JobRef{ID: id}, false)
		return err == nil && jobs[0].State == core.JobRunning
	})
	c.replicas[0].kill()
	writeFile(t, c.dir, "release", "", 0o644)
	eventually(t, 10*time.Second, "the job ends by itself", func() bool {
		_, err := os.Stat(release + ".done")
		return err == nil
	})
	c.replicas[0].start()
	ended := c.finish(id, 30*time.Second)
	if ended.State != core.JobFailed || ended.ExitCode != 7 || ended.Attempt != 1 {
		t.Errorf("job ended %s with %d at attempt %d, want FAILED with 7 at attempt 1", ended.State, ended.ExitCode, ended.Attempt)
	}
}

// TestStoppedLeaderHandsOver ends the leader with SIGTERM: it exits 0 and another one
// leads.
func TestStoppedLeaderHandsOver(t *testing.T) {
	c := newCluster(t, 3, "")
	leader := c.leader()
	if code := leader.stop(); code != core.ExitOK {
		t.Errorf("the leader exited %d on SIGTERM, want 0", code)
	}
	if next := c.leader(); next == leader {
		t.Error("the stopped leader still leads")
	}
}
