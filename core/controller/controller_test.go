package controller

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/config"
)

// run starts a controller of its own on free loopback ports until the test ends, and
// returns it with a client on its socket once it is ready.
func run(t *testing.T, change func(*config.Config)) (*Controller, *api.Client) {
	t.Helper()
	c := config.Default()
	c.Name, c.DataDir = "ctl-1", t.TempDir()
	c.API.Listen, c.Raft.Listen, c.Probes.Listen, c.Metrics.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Raft.HeartbeatTimeout, c.Raft.ElectionTimeout = 100*time.Millisecond, 100*time.Millisecond
	change(c)
	replica, err := New(t.Context(), c, "test", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- replica.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		replica.Close()
	})
	client, err := api.NewClient([]string{"unix:" + replica.SocketPath()}, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	until(t, "ready", func() bool { return replica.probe.Ready() == "ok" })
	return replica, client
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func submission() core.Submission {
	return core.Submission{
		Spec: core.JobSpec{
			Name: "job", User: "alice", UID: uint32(os.Getuid()), Partition: core.DefaultPartition,
			Nodes: 1, Tasks: 1, CPUsPerTask: 1,
		},
		Payload: core.Payload{Argv: []string{"true"}},
	}
}

// TestMetricsAreThoseOfTheManual compares what is served with docs/metrics.md.
func TestMetricsAreThoseOfTheManual(t *testing.T) {
	replica, _ := run(t, func(*config.Config) {})
	manual, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get("http://" + replica.listeners.Metrics.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	served, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	names := func(text []byte, pattern string) []string {
		var found []string
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			found = append(found, string(match[1]))
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	if diff := cmp.Diff(names(manual, `(?m)^\| (rowel_\w+) \|`), names(served, `(?m)^# TYPE (rowel_\w+) `)); diff != "" {
		t.Errorf("metrics (-manual +served):\n%s", diff)
	}
}

func TestNearlyFullDiskTakesNoJobIn(t *testing.T) {
	replica, client := run(t, func(c *config.Config) { c.Raft.DiskReserve = 1 << 20 * config.MiB })
	_, err := client.Submit(t.Context(), api.NewRequestKey(), []core.Submission{submission()})
	if core.KindOf(err) != core.Exhausted || !strings.Contains(err.Error(), replica.config.DataDir) {
		t.Errorf("submitting gives %v, want Exhausted naming the directory", err)
	}
	status, err := client.Status(t.Context())
	if err != nil || !slices.ContainsFunc(status.GetWarnings(), func(w string) bool { return strings.Contains(w, "nearly full") }) {
		t.Errorf("status warns of %q (%v), want the full disk", status.GetWarnings(), err)
	}
}

func TestOldJobsLiveOnInHistoryOnly(t *testing.T) {
	replica, client := run(t, func(c *config.Config) { c.Jobs.Retention = time.Second })
	submitted, err := client.Submit(t.Context(), api.NewRequestKey(), []core.Submission{submission()})
	if err != nil {
		t.Fatal(err)
	}
	id := submitted.Jobs[0]
	if _, err := client.Cancel(t.Context(), []core.JobRef{{ID: id}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the state has forgotten the job", func() bool { return replica.store.View().Job(id) == nil })
	jobs, _, err := client.History(t.Context(), api.HistoryFilter{IDs: []core.JobID{id}})
	if err != nil || len(jobs) != 1 || jobs[0].State != core.JobCancelled {
		t.Errorf("history has %d such jobs (%v), want the cancelled one", len(jobs), err)
	}
	if jobs, _, err := client.Job(t.Context(), core.JobRef{ID: id}, false); err != nil || len(jobs) != 1 {
		t.Errorf("job show finds %d (%v), want it in history", len(jobs), err)
	}
}

func TestPortThatIsTakenIsNamedWithItsKey(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := config.Default()
	c.DataDir, c.API.Listen, c.Raft.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	c.Metrics.Enabled, c.Probes.Listen = false, taken.Addr().String()
	_, err = New(t.Context(), c, "test", hclog.NewNullLogger())
	if core.KindOf(err) != core.Unavailable || !strings.Contains(err.Error(), "probes.listen") || !strings.Contains(err.Error(), c.Probes.Listen) {
		t.Errorf("got %v, want Unavailable naming probes.listen and the port", err)
	}
}
