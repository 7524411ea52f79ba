package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestHelloRegistersTheNode(t *testing.T) {
	n := startNode(t, t.TempDir(), func(a *Agent) { a.cfg.Labels = map[string]string{"rack": "r1"} })
	hello := n.accept().welcome()
	want := &wire.RegisterNode{
		Name: "n1", Labels: map[string]string{"rack": "r1"}, Capacity: &wire.Resources{Cpus: 4, MemoryMib: 1024},
		Agent: n.agent.incarnation, BootId: n.agent.boot, Version: "test", Os: osName(),
	}
	if diff := cmp.Diff(want, hello.GetNode(), protocmp.Transform()); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if len(hello.GetNode().GetAgent()) < 20 {
		t.Errorf("incarnation %q is too short to be unique", hello.GetNode().GetAgent())
	}
}

func TestHeartbeatsFollowTheLeadersInterval(t *testing.T) {
	_, s := connected(t)
	if heartbeat := s.next().GetHeartbeat(); heartbeat == nil || heartbeat.GetSentAt() == nil {
		t.Errorf("the next message is no heartbeat")
	}
}

func TestLostStreamLeavesJobsRunningAndListsThem(t *testing.T) {
	n, s := connected(t)
	job := testJob(t, 7)
	s.launch(job, script("touch started; while ! test -e go; do sleep 0.01; done"))
	within(t, "the job runs", func() bool { return exists(job.Spec.WorkDir + "/started") })
	s.lose()
	second := n.accept()
	hello := second.welcome()
	if got := hello.GetRunning(); len(got) != 1 || got[0].GetJob() != 7 || got[0].GetAttempt() != 1 {
		t.Errorf("hello lists %v, want job 7 attempt 1", got)
	}
	makePipe(t, job.Spec.WorkDir+"/go")
	if report := second.report(); report.State != core.JobCompleted {
		t.Errorf("report %+v, want COMPLETED", report)
	}
}

func TestReconnectRepeatsUnacknowledgedReports(t *testing.T) {
	n, s := connected(t)
	s.launch(testJob(t, 7), script("exit 3"))
	first := s.reports()
	s.lose()
	second := n.accept()
	if got := second.welcome().GetRunning(); len(got) != 1 || got[0].GetJob() != 7 {
		t.Errorf("hello lists %v, want job 7", got)
	}
	if diff := cmp.Diff(first, second.reports()); diff != "" {
		t.Errorf("reports (-first +second):\n%s", diff)
	}
	second.acknowledge(first...)
	fence(t, second)
	second.lose()
	if got := n.accept().welcome().GetRunning(); len(got) != 0 {
		t.Errorf("hello lists %v after the acknowledgement", got)
	}
}

func TestReportWithoutAnswerIsRepeatedOnTheSameStream(t *testing.T) {
	_, s := connected(t, func(a *Agent) { a.pace.resend = time.Nanosecond })
	s.launch(testJob(t, 7), script("exit 3"))
	first := s.reports()
	if diff := cmp.Diff(first, s.reports()); diff != "" {
		t.Errorf("reports (-first +second):\n%s", diff)
	}
}

func TestEndsThatComeTogetherGoTogether(t *testing.T) {
	o := newOutbox()
	for id := core.JobID(1); id <= maxReports+10; id++ {
		o.add(core.JobReport{Job: id, Attempt: 1, State: core.JobCompleted})
	}
	o.acknowledge(jobKey{id: 1, attempt: 1})
	now := time.Now()
	if got := len(o.take(now)); got != maxReports {
		t.Errorf("first batch has %d reports, want %d", got, maxReports)
	}
	if len(o.wake) == 0 {
		t.Error("nothing says that more is due")
	}
	if got := len(o.take(now)); got != 9 {
		t.Errorf("second batch has %d reports, want 9", got)
	}
	if got := o.take(now); got != nil {
		t.Errorf("third batch has %v, want none", got)
	}
}

func TestNotLeaderIsFollowedToTheLeader(t *testing.T) {
	n := startNode(t, t.TempDir())
	s := n.accept()
	s.refused <- &NotLeaderError{Leader: "c9:6817"}
	second := n.accept()
	if second.address != "c9:6817" {
		t.Errorf("the agent went to %s, want c9:6817", second.address)
	}
	second.welcome()
	fence(t, second)
}

func TestEveryControllerIsTriedInTurn(t *testing.T) {
	n := startNode(t, t.TempDir())
	var addresses []string
	for range 4 {
		s := n.accept()
		addresses = append(addresses, s.address)
		s.refused <- &NotLeaderError{}
	}
	if want := []string{"c1:6817", "c2:6817", "c1:6817", "c2:6817"}; !slices.Equal(addresses, want) {
		t.Errorf("the agent went to %v, want %v", addresses, want)
	}
}

func TestControllersThatNameEachOtherAreAskedWithPauses(t *testing.T) {
	n := startNode(t, t.TempDir(), func(a *Agent) { a.pace.backoffMin, a.pace.backoffMax = time.Hour, time.Hour })
	for range maxRedirects + 1 {
		n.accept().refused <- &NotLeaderError{Leader: "c9:6817"}
	}
	select {
	case <-n.streams:
		t.Error("the agent went on without a pause")
	case <-time.After(20 * time.Millisecond):
	}
}

func TestSilentControllerIsLeft(t *testing.T) {
	n := startNode(t, t.TempDir(), func(a *Agent) { a.pace.welcome = 10 * time.Millisecond })
	n.accept()
	if second := n.accept(); second.address != "c2:6817" {
		t.Errorf("the agent went to %s, want c2:6817", second.address)
	}
}

func TestControllerThatDoesNotWelcomeFirstIsLeft(t *testing.T) {
	n := startNode(t, t.TempDir())
	s := n.accept()
	job := testJob(t, 1)
	s.launch(job, script("touch ran"))
	n.accept().welcome()
	if exists(job.Spec.WorkDir + "/ran") {
		t.Error("a job ran at the word of a controller that had not welcomed the node")
	}
}

func TestStuckStreamIsLeft(t *testing.T) {
	n := startNode(t, t.TempDir(), func(a *Agent) { a.pace.send = 10 * time.Millisecond })
	s := n.accept()
	s.welcome()
	for range cap(s.sent) { // nobody takes them
		s.sent <- &wire.AgentMessage{}
	}
	n.accept().welcome()
}

func TestFailedDialIsTriedAgain(t *testing.T) {
	dialled := make(chan string, 16)
	dial := func(_ context.Context, address string) (Stream, error) {
		dialled <- address
		return nil, errors.New("connection refused")
	}
	cfg := Config{NodeName: "n1", Controllers: []string{"c1:1"}, SpoolDir: t.TempDir()}
	agent, err := New(cfg, dial, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	agent.pace.backoffMin, agent.pace.backoffMax = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	for range 3 {
		<-dialled
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRegistryForgetsOnlyWhatIsLongPast(t *testing.T) {
	r := newRegistry()
	take := func(id core.JobID, attempt uint32) bool {
		j := &job{key: jobKey{id: id, attempt: attempt}, done: make(chan struct{})}
		_, admitted := r.admit(j)
		if admitted {
			r.over(j)
			r.acknowledged(j.key)
		}
		return admitted
	}
	for id := core.JobID(1); id <= rememberedJobs; id++ {
		if !take(id, 1) {
			t.Fatalf("job %d is not taken on", id)
		}
	}
	if take(1, 1) {
		t.Error("job 1 is taken on twice")
	}
	take(rememberedJobs+1, 1)
	if len(r.newest) != rememberedJobs {
		t.Errorf("%d jobs are remembered, want %d", len(r.newest), rememberedJobs)
	}
	if take(2, 1) {
		t.Error("job 2 is taken on twice")
	}
}

func TestMemTotal(t *testing.T) {
	got, err := memTotalMiB([]byte("MemFree: 12 kB\nMemTotal:       16384256 kB\n"))
	if err != nil || got != 16000 {
		t.Errorf("got %d, %v, want 16000", got, err)
	}
	if _, err := memTotalMiB([]byte("MemFree: 12 kB\n")); err == nil || !strings.Contains(err.Error(), "MemTotal") {
		t.Errorf("error %v, want one about MemTotal", err)
	}
}

func TestCapacityIsMeasuredWhereNotConfigured(t *testing.T) {
	got, err := measureCapacity(core.Resources{MemoryMiB: 5})
	if err != nil || got.CPUs == 0 || got.MemoryMiB != 5 {
		t.Errorf("got %v, %v, want some CPUs and 5 MiB", got, err)
	}
	if got, err = measureCapacity(core.Resources{CPUs: 3}); err != nil || got.CPUs != 3 || got.MemoryMiB == 0 {
		t.Errorf("got %v, %v, want 3 CPUs and some memory", got, err)
	}
}
