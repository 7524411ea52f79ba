package test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// TestProbesAnswerOnBothPorts checks the defaults that a kubelet and a local check rely
// on.
func TestProbesAnswerOnBothPorts(t *testing.T) {
	c := newCluster(t, 1, "")
	r := c.replicas[0]
	for _, port := range []string{r.probes, r.metrics} {
		for _, path := range []string{"/livez", "/readyz"} {
			if code := probe("http://" + port + path); code != http.StatusOK {
				t.Errorf("%s on %s answered %d", path, port, code)
			}
		}
	}
	if code := probe("http://" + r.metrics + "/metrics"); code != http.StatusOK {
		t.Errorf("/metrics answered %d", code)
	}
}

// TestDeadCoreExits70 takes the log store's file away from under a running controller.
func TestDeadCoreExits70(t *testing.T) {
	c := newCluster(t, 1, "")
	r := c.replicas[0]
	var store string
	err := filepath.Walk(r.data, func(path string, _ os.FileInfo, err error) error {
		if filepath.Base(path) == "raft.db" {
			store = path
		}
		return err
	})
	if err != nil || store == "" {
		t.Fatalf("no raft.db under %s: %v", r.data, err)
	}
	if err := os.Remove(store); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(10 * time.Second); code != core.ExitCoreDied {
		t.Errorf("the controller exited %d, want 70", code)
	}
	if n := strings.Count(r.log.String(), "[ERROR]"); n != 1 {
		t.Errorf("%d error lines, want exactly one:\n%s", n, r.log.tail(20))
	}
}

// TestReplicaWithoutQuorumIsNotReady kills two of three: the survivor lives, and takes
// no traffic.
func TestReplicaWithoutQuorumIsNotReady(t *testing.T) {
	c := newCluster(t, 3, "")
	c.replicas[0].kill()
	c.replicas[1].kill()
	survivor := c.replicas[2]
	eventually(t, 10*time.Second, "the survivor is not ready", func() bool { return !survivor.ready() })
	if code := probe("http://" + survivor.probes + "/livez"); code != http.StatusOK {
		t.Errorf("/livez of the survivor answered %d, want 200: restarting it would not help", code)
	}
	c.replicas[0].start()
	eventually(t, 20*time.Second, "the survivor is ready again", survivor.ready)
}

// TestTakenPortIsNamed starts a second controller on the ports of the first.
func TestTakenPortIsNamed(t *testing.T) {
	c := newCluster(t, 1, "")
	text, err := os.ReadFile(c.replicas[0].config)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(text), c.replicas[0].data, filepath.Join(c.dir, "other"))
	second := start(t, "second", "controller", "-config", writeFile(t, c.dir, "second.hcl", other, 0o644))
	if code := second.wait(10 * time.Second); code != core.ExitUnavailable {
		t.Errorf("exit %d, want %d", code, core.ExitUnavailable)
	}
	if !strings.Contains(second.log.String(), c.replicas[0].api) {
		t.Errorf("the taken port is not named:\n%s", second.log.tail(5))
	}
}

// TestLockedDataDirectoryIsNamed starts a second controller on the first one's data.
func TestLockedDataDirectoryIsNamed(t *testing.T) {
	c := newCluster(t, 1, "")
	r, ports := c.replicas[0], freePorts(t, 4)
	text, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer(r.api, ports[0], r.raft, ports[1], r.probes, ports[2], r.metrics, ports[3]).Replace(string(text))
	second := start(t, "second", "controller", "-config", writeFile(t, c.dir, "second.hcl", other, 0o644))
	if code := second.wait(10 * time.Second); code != core.ExitCannotOpen {
		t.Errorf("exit %d, want %d", code, core.ExitCannotOpen)
	}
	if !strings.Contains(second.log.String(), r.data) {
		t.Errorf("the locked directory is not named:\n%s", second.log.tail(5))
	}
	if !r.ready() {
		t.Error("the first controller is no longer ready")
	}
}

// TestPausedLeaderIsReplaced stops the leader's process for longer than its lease and
// lets it go on: it comes back as a follower, and nothing acknowledged is lost.
func TestPausedLeaderIsReplaced(t *testing.T) {
	c := newCluster(t, 3, "")
	c.addAgent("n1", 2)
	old := c.leader()
	var ids []core.JobID
	for range 20 {
		ids = append(ids, c.submit(c.script("before", ""))...)
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(old.daemon(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	resumed := false
	defer func() {
		if !resumed {
			signal(syscall.SIGCONT)
		}
	}()
	eventually(t, 15*time.Second, "another controller leads", func() bool {
		for _, r := range c.replicas {
			if r != old && r.leads() {
				return true
			}
		}
		return false
	})
	for range 20 {
		ids = append(ids, c.submit(c.script("during", ""))...)
	}
	signal(syscall.SIGCONT)
	resumed = true
	for _, id := range ids {
		if job := c.finish(id, time.Minute); job.State != core.JobCompleted {
			t.Errorf("job %d ended %s", id, job.State)
		}
	}
}
