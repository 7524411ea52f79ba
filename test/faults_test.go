package test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// smallDisk lets a controller live on a small disk to the last byte, and makes a stall a
// death soon enough to wait for.
const smallDisk = "  stall_timeout = \"2s\"\n  disk_reserve = \"0B\"\n"

// diskFaults is what can happen to one replica, and what its process must end with: 0 means
// that it must live on.
var diskFaults = []struct {
	name    string
	happens func(r *replica, d *disk)
	exit    int
	says    string // in the one error line
	within  time.Duration
}{
	{"the disk dies", func(_ *replica, d *disk) { d.dies() }, core.ExitCoreDied, "core is dead", 5 * time.Second},
	{"the disk stalls", func(_ *replica, d *disk) { d.freezes() }, core.ExitCoreDied, "stalled", 8 * time.Second},
	{"the disk is full", func(_ *replica, d *disk) { d.fills() }, core.ExitCoreDied, "no space left", 10 * time.Second},
	{"the store is removed", func(r *replica, _ *disk) { _ = os.Remove(r.store()) }, core.ExitCoreDied, "store-gone", 5 * time.Second},
	{"the store is cut short", func(r *replica, _ *disk) { _ = os.Truncate(r.store(), 4096) }, core.ExitCoreDied, "core is dead", 5 * time.Second},
	{"the process aborts", func(r *replica, _ *disk) { _ = syscall.Kill(r.daemon(), syscall.SIGABRT) }, core.ExitCoreDied, "core is dead", 5 * time.Second},
}

func (r *replica) store() string { return filepath.Join(r.data, "raft", "raft.db") }

// TestFaultsEndTheLeaderAndNotTheCluster lets each fault happen to the leader of three
// while clients submit: its probe fails, its process says why in one line and exits 70,
// the other two go on, and nothing acknowledged is lost.
func TestFaultsEndTheLeaderAndNotTheCluster(t *testing.T) {
	for _, fault := range diskFaults {
		t.Run(fault.name, func(t *testing.T) {
			disks := []*disk{newDisk(t, 64), newDisk(t, 64), newDisk(t, 64)}
			c := newCluster(t, 3, "", disks...)
			for _, d := range disks {
				t.Cleanup(d.thaw) // before the processes are waited for
			}
			c.reconfigure(smallDisk)
			leader := c.leader()
			acknowledged := c.submitSome("before", 20)

			began := time.Now()
			fault.happens(leader, disks[c.indexOf(leader)])
			unready, noticed := leader.watchProbe(began)
			acknowledged = append(acknowledged, c.submitSome("after", 20)...)
			resumed := time.Since(began)
			if code := leader.wait(fault.within); code != fault.exit {
				t.Errorf("the process exited %d, want %d", code, fault.exit)
			}
			t.Logf("%s: unready after %v, gone after %v, 20 more jobs acknowledged after %v", fault.name, <-unready, <-noticed, resumed)
			if lines := errorLines(leader); len(lines) != 1 || !strings.Contains(lines[0], fault.says) {
				t.Errorf("want one line about the death with %q:\n%s", fault.says, strings.Join(lines, "\n"))
			}
			c.checkQueued(acknowledged)
		})
	}
}

// TestFaultsEndASingleController does the same to a controller that is alone, and starts
// it again where its disk allows: everything acknowledged is there.
func TestFaultsEndASingleController(t *testing.T) {
	for _, fault := range diskFaults {
		t.Run(fault.name, func(t *testing.T) {
			d := newDisk(t, 64)
			c := newCluster(t, 1, "", d)
			t.Cleanup(d.thaw) // before the process is waited for
			c.reconfigure(smallDisk)
			r := c.replicas[0]
			acknowledged := c.submitSome("before", 20)
			began := time.Now()
			fault.happens(r, d)
			unready, noticed := r.watchProbe(began)
			stop := c.keepSubmitting()
			code := r.wait(fault.within)
			acknowledged = append(acknowledged, stop()...)
			if code != fault.exit {
				t.Errorf("the process exited %d, want %d", code, fault.exit)
			}
			t.Logf("%s: unready after %v, gone after %v", fault.name, <-unready, <-noticed)
			if lines := errorLines(r); len(lines) != 1 || !strings.Contains(lines[0], fault.says) {
				t.Errorf("want one line about the death with %q:\n%s", fault.says, strings.Join(lines, "\n"))
			}
			switch fault.name {
			case "the disk stalls":
				d.thaw()
			case "the disk is full":
				_ = os.Remove(filepath.Join(d.path, "filler"))
			case "the process aborts":
			default:
				return // the data is gone, or the disk is
			}
			r.start()
			eventually(t, 20*time.Second, "the controller is ready again", r.ready)
			c.checkQueued(acknowledged)
		})
	}
}

// TestPowerCutsLoseNothingAcknowledged cuts the power of a machine at random moments of
// a stream of submissions and starts from what its disk then holds.
func TestPowerCutsLoseNothingAcknowledged(t *testing.T) {
	cuts := 8
	if os.Getenv("ROWEL_TORTURE") != "" {
		cuts = 200
	}
	random := seeded(t)
	d := newDisk(t, 64)
	c := newCluster(t, 1, "", d)
	c.reconfigure(smallDisk)
	r := c.replicas[0]
	var acknowledged []core.JobID
	for range cuts {
		stop := c.keepSubmitting()
		<-time.After(time.Duration(100+random.IntN(400)) * time.Millisecond)
		d.dies()
		r.kill()
		acknowledged = append(acknowledged, stop()...)
		after := d.afterPowerCut()
		text, err := os.ReadFile(r.config)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, c.dir, r.name+".hcl", strings.ReplaceAll(string(text), d.path, after.path), 0o644)
		r.data, d = filepath.Join(after.path, r.name), after
		r.start()
		eventually(t, 20*time.Second, "the controller is ready again", r.ready)
		c.checkQueued(acknowledged)
	}
	if len(acknowledged) < cuts {
		t.Errorf("only %d jobs were acknowledged between %d power cuts", len(acknowledged), cuts)
	}
	t.Logf("%d jobs survived %d power cuts", len(acknowledged), cuts)
}

// TestDamagedStoreIsRefusedAndKept starts a controller on a log that was cut short: it
// says which file, exits 73, and leaves the file as it is.
func TestDamagedStoreIsRefusedAndKept(t *testing.T) {
	c := newCluster(t, 1, "")
	r := c.replicas[0]
	c.submitSome("before", 5)
	r.kill()
	text, err := os.ReadFile(r.store())
	if err != nil {
		t.Fatal(err)
	}
	damaged := text[:5*4096]
	if err := os.WriteFile(r.store(), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	if code := r.wait(10 * time.Second); code != core.ExitCannotOpen {
		t.Errorf("exit %d, want %d", code, core.ExitCannotOpen)
	}
	if !strings.Contains(r.log.tail(3), r.store()) {
		t.Errorf("the file is not named:\n%s", r.log.tail(3))
	}
	if now, err := os.ReadFile(r.store()); err != nil || string(now) != string(damaged) {
		t.Errorf("the file was changed (%v)", err)
	}
}

// reconfigure adds to the raft block of every controller and starts it anew.
func (c *cluster) reconfigure(keys string) {
	c.t.Helper()
	for _, r := range c.replicas {
		r.stop()
		text, err := os.ReadFile(r.config)
		if err != nil {
			c.t.Fatal(err)
		}
		writeFile(c.t, c.dir, r.name+".hcl", strings.Replace(string(text), "raft {\n", "raft {\n"+keys, 1), 0o644)
	}
	for _, r := range c.replicas {
		r.start()
	}
	for _, r := range c.replicas {
		eventually(c.t, 20*time.Second, r.name+" is ready", r.ready)
	}
}

func (c *cluster) indexOf(r *replica) int {
	for i := range c.replicas {
		if c.replicas[i] == r {
			return i
		}
	}
	c.t.Fatal("no such replica")
	return -1
}

// submitSome queues jobs that nothing can start: no agent is there.
func (c *cluster) submitSome(name string, n int) []core.JobID {
	c.t.Helper()
	var ids []core.JobID
	for i := range n {
		ids = append(ids, c.submit(c.script(fmt.Sprintf("%s-%d", name, i), ""))...)
	}
	return ids
}

// keepSubmitting submits until the returned function is called, which returns what was
// acknowledged. Refusals are expected: the controller is dying.
func (c *cluster) keepSubmitting() (stop func() []core.JobID) {
	c.t.Helper()
	quit, done := make(chan struct{}), make(chan []core.JobID)
	client, err := api.NewClient(c.addresses(), 50*time.Millisecond)
	if err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer client.Close()
		var ids []core.JobID
		for {
			select {
			case <-quit:
				done <- ids
				return
			default:
			}
			ctx, cancel := timeout(c.t, time.Second)
			submitted, err := client.Submit(ctx, api.NewRequestKey(), []core.Submission{c.script("stream", "")})
			cancel()
			if err == nil {
				ids = append(ids, submitted.Jobs...)
			}
		}
	}()
	return func() []core.JobID {
		close(quit)
		return <-done
	}
}

// checkQueued makes sure that every job is still known.
func (c *cluster) checkQueued(ids []core.JobID) {
	c.t.Helper()
	jobs, err := c.client.Jobs(c.t.Context(), api.JobFilter{All: true})
	if err != nil {
		c.t.Fatal(err)
	}
	known := make(map[core.JobID]bool)
	for _, job := range jobs {
		known[job.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			c.t.Errorf("job %d was acknowledged and is gone", id)
		}
	}
}

// watchProbe tells how long after began the probe no longer answered 200, and how long
// after it the process was gone.
func (r *replica) watchProbe(began time.Time) (unready, gone <-chan time.Duration) {
	first, last := make(chan time.Duration, 1), make(chan time.Duration, 1)
	done := r.done
	go func() {
		for probe("http://"+r.probes+"/readyz") == http.StatusOK {
			<-time.After(5 * time.Millisecond)
		}
		first <- time.Since(began)
	}()
	go func() {
		<-done
		last <- time.Since(began)
	}()
	return first, last
}

// errorLines returns what the process said at error level, but for the Raft library's
// complaints about its peers.
func errorLines(r *replica) []string {
	var lines []string
	for line := range strings.SplitSeq(r.log.String(), "\n") {
		if strings.Contains(line, "[ERROR]") && !strings.Contains(line, "consensus.raft") && !strings.Contains(line, "consensus.transport") {
			lines = append(lines, line)
		}
	}
	return lines
}
