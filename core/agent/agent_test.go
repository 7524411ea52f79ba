package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimVariable); dir != "" {
		runVictim(dir)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test; a test that needs it has failed.
const patience = 20 * time.Second

// fakeStream is both ends of a stream in memory.
type fakeStream struct {
	t       testing.TB
	ctx     context.Context
	address string
	sent    chan *wire.AgentMessage      // by the agent
	told    chan *wire.ControllerMessage // to the agent
	refused chan error                   // what Receive fails with
}

func (s *fakeStream) Send(m *wire.AgentMessage) error {
	select {
	case s.sent <- m:
		return nil
	case <-s.ctx.Done():
		return io.EOF
	}
}

func (s *fakeStream) Receive() (*wire.ControllerMessage, error) {
	select {
	case m := <-s.told:
		return m, nil
	case err := <-s.refused:
		return nil, err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *fakeStream) CloseRequest() error  { return nil }
func (s *fakeStream) CloseResponse() error { return nil }

// next returns the agent's next message.
func (s *fakeStream) next() *wire.AgentMessage {
	s.t.Helper()
	return s.nextThat("speaks", func(*wire.AgentMessage) bool { return true })
}

// nextThat returns the next message that is wanted. Others, heartbeats among them, do
// not prolong the wait.
func (s *fakeStream) nextThat(does string, wanted func(*wire.AgentMessage) bool) *wire.AgentMessage {
	s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case m := <-s.sent:
			if wanted(m) {
				return m
			}
		case <-late:
			s.t.Fatalf("the agent never %s", does)
			return nil
		}
	}
}

// welcome answers the agent's hello and returns it.
func (s *fakeStream) welcome() *wire.AgentHello {
	s.t.Helper()
	hello := s.next().GetHello()
	if hello == nil {
		s.t.Fatal("the agent's first message is no hello")
	}
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_Welcome{Welcome: &wire.Welcome{HeartbeatSeconds: 1}}})
	return hello
}

func (s *fakeStream) tell(m *wire.ControllerMessage) {
	s.t.Helper()
	select {
	case s.told <- m:
	case <-time.After(patience):
		s.t.Fatal("the agent takes nothing")
	}
}

func (s *fakeStream) launch(job *core.Job, payload core.Payload) {
	s.t.Helper()
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_Launch{Launch: &wire.Launch{
		Job: wire.FromJob(job), Payload: wire.FromPayload(&payload),
	}}})
}

func (s *fakeStream) terminate(job *core.Job) {
	s.t.Helper()
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_Terminate{Terminate: &wire.Terminate{
		Job: uint64(job.ID), Attempt: job.Attempt, Why: "cancelled by alice",
	}}})
}

func (s *fakeStream) acknowledge(reports ...core.JobReport) {
	s.t.Helper()
	ack := &wire.ReportsAck{}
	for _, report := range reports {
		ack.Jobs = append(ack.Jobs, reportKey(report).message())
	}
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_Ack{Ack: ack}})
}

// reports returns the next batch of reports.
func (s *fakeStream) reports() []core.JobReport {
	s.t.Helper()
	message := s.nextThat("reports", func(m *wire.AgentMessage) bool { return m.GetReports() != nil })
	var reports []core.JobReport
	for _, m := range message.GetReports().GetReports() {
		report, err := wire.ToReport(m)
		if err != nil {
			s.t.Fatal(err)
		}
		reports = append(reports, report)
	}
	return reports
}

// report returns the next report, which must come alone, and acknowledges it.
func (s *fakeStream) report() core.JobReport {
	s.t.Helper()
	reports := s.reports()
	if len(reports) != 1 {
		s.t.Fatalf("%d reports, want one: %v", len(reports), reports)
	}
	s.acknowledge(reports[0])
	return reports[0]
}

func (s *fakeStream) lose() { s.refused <- errors.New("connection reset") }

// testNode is an agent and the controllers it finds.
type testNode struct {
	t       testing.TB
	agent   *Agent
	cfg     Config
	streams chan *fakeStream
	stop    func() // ends the agent and waits for it
}

// startNode runs an agent. Each change is made to it before it runs.
func startNode(t testing.TB, spoolDir string, changes ...func(*Agent)) *testNode {
	t.Helper()
	n := &testNode{t: t, streams: make(chan *fakeStream, 16)}
	n.cfg = Config{
		NodeName: "n1", Controllers: []string{"c1:6817", "c2:6817"}, SpoolDir: spoolDir,
		Capacity: core.Resources{CPUs: 4, MemoryMiB: 1024}, KillWait: 200 * time.Millisecond, Version: "test",
	}
	dial := func(ctx context.Context, address string) (Stream, error) {
		s := &fakeStream{
			t: t, ctx: ctx, address: address,
			sent: make(chan *wire.AgentMessage, 64), told: make(chan *wire.ControllerMessage, 64), refused: make(chan error, 1),
		}
		n.streams <- s
		return s, nil
	}
	agent, err := New(n.cfg, dial, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	n.agent = agent
	agent.pace.outputPoll = 2 * time.Millisecond
	agent.pace.backoffMin, agent.pace.backoffMax = time.Millisecond, 10*time.Millisecond
	agent.pace.lastReports = 500 * time.Millisecond
	for _, change := range changes {
		change(agent)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	stopped := false
	n.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(n.stop)
	return n
}

// accept returns the next stream that the agent opens.
func (n *testNode) accept() *fakeStream {
	n.t.Helper()
	select {
	case s := <-n.streams:
		return s
	case <-time.After(patience):
		n.t.Fatal("the agent opens no stream")
		return nil
	}
}

// connected starts an agent on a new spool and returns it with its first stream.
func connected(t testing.TB, changes ...func(*Agent)) (*testNode, *fakeStream) {
	t.Helper()
	n := startNode(t, t.TempDir(), changes...)
	s := n.accept()
	s.welcome()
	return n, s
}

// testJob returns a job of the user who runs the test, on one node, in a directory of
// its own.
func testJob(t testing.TB, id core.JobID) *core.Job {
	t.Helper()
	return &core.Job{
		ID: id, State: core.JobRunning, Attempt: 1,
		Spec: &core.JobSpec{
			Name: "hello", User: "alice", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
			Partition: core.DefaultPartition, Nodes: 1, Tasks: 2, CPUsPerTask: 1, MemoryMiB: 64, WorkDir: t.TempDir(),
		},
		Placements: []core.Placement{{Node: "n1", Resources: core.Resources{CPUs: 2, MemoryMiB: 64}}},
	}
}

func script(text string) core.Payload {
	return core.Payload{Script: []byte("#!/bin/sh\n" + text + "\n")}
}

// within waits until a condition holds.
func within(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still not so: %s", what)
		}
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// pidIn waits for a job to write a process number to a file and returns it.
func pidIn(t testing.TB, path string) int {
	t.Helper()
	var pid int
	within(t, path+" holds a process number", func() bool {
		data, _ := os.ReadFile(path)
		text, whole := strings.CutSuffix(string(data), "\n")
		var err error
		pid, err = strconv.Atoi(text)
		return whole && err == nil
	})
	return pid
}

func processAlive(pid int) bool {
	stat, err := readStat(pid)
	return err == nil && stat.alive()
}

// startBystander runs a process in a session of its own that the agent did not start.
func startBystander(t testing.TB, environment ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/usr/bin/env", "setsid", "/bin/sh", "-c", "sleep 300 & wait")
	cmd.Env = append(os.Environ(), environment...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // not reaped yet: the group is its own
		_ = cmd.Wait()
	})
	within(t, "the bystander leads a session", func() bool {
		stat, err := readStat(cmd.Process.Pid)
		return err == nil && stat.session == stat.pid
	})
	return cmd
}

func TestNewNamesWhatToCorrect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := Config{NodeName: "n1", Controllers: []string{"c1:6817"}, SpoolDir: t.TempDir()}
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"bad node name", func(c *Config) { c.NodeName = "n 1" }, `node name "n 1"`},
		{"no controllers", func(c *Config) { c.Controllers = nil }, "no controller"},
		{"address without port", func(c *Config) { c.Controllers = []string{"c1"} }, `"c1"`},
		{"relative spool", func(c *Config) { c.SpoolDir = "spool" }, `"spool"`},
		{"spool is a file", func(c *Config) { c.SpoolDir = file }, file},
		{"negative kill wait", func(c *Config) { c.KillWait = -1 }, "kill wait"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := good
			test.change(&cfg)
			_, err := New(cfg, nil, hclog.NewNullLogger())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %s", err, test.want)
			}
		})
	}
}

func TestRunRefusesSpoolOfAnotherAgent(t *testing.T) {
	n, _ := connected(t)
	second, err := New(n.cfg, nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("error %v, want one about another agent", err)
	}
}

func TestStopEndsJobsAndReportsThem(t *testing.T) {
	n, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("touch here; exec sleep 300"))
	within(t, "the job runs", func() bool { return exists(job.Spec.WorkDir + "/here") })
	go n.stop()
	report := s.report()
	if report.State != core.JobNodeFail || report.Reason != core.ReasonNodeDown || !strings.Contains(report.Message, "n1 was stopped") {
		t.Errorf("report %+v, want NODE_FAIL because the agent was stopped", report)
	}
	n.stop()
}
