package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// victimVariable makes the test binary an agent that is to be killed. It names a
// directory for the spool and the agent's one job.
const victimVariable = "ROWEL_TEST_VICTIM"

// oneLaunch is a stream that welcomes the node, launches one job and says no more.
type oneLaunch struct {
	ctx   context.Context
	words chan *wire.ControllerMessage
}

func (s *oneLaunch) Send(*wire.AgentMessage) error { return nil }
func (s *oneLaunch) CloseRequest() error           { return nil }
func (s *oneLaunch) CloseResponse() error          { return nil }

func (s *oneLaunch) Receive() (*wire.ControllerMessage, error) {
	select {
	case m := <-s.words:
		return m, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// runVictim never returns.
func runVictim(dir string) {
	payload := script("sleep 300 & echo $! > child; echo $$ > leader; wait")
	job := &core.Job{ID: 1, State: core.JobRunning, Attempt: 1, Spec: &core.JobSpec{
		Name: "victim", User: "u", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1, WorkDir: dir,
	}}
	dial := func(ctx context.Context, _ string) (Stream, error) {
		s := &oneLaunch{ctx: ctx, words: make(chan *wire.ControllerMessage, 2)}
		s.words <- &wire.ControllerMessage{Kind: &wire.ControllerMessage_Welcome{Welcome: &wire.Welcome{}}}
		s.words <- &wire.ControllerMessage{Kind: &wire.ControllerMessage_Launch{Launch: &wire.Launch{
			Job: wire.FromJob(job), Payload: wire.FromPayload(&payload),
		}}}
		return s, nil
	}
	cfg := Config{NodeName: "n1", Controllers: []string{"c1:1"}, SpoolDir: filepath.Join(dir, "spool")}
	agent, err := New(cfg, dial, hclog.Default())
	if err != nil {
		panic(err)
	}
	panic(agent.Run(context.Background()))
}

func TestKilledAgentsJobIsEndedAndReportedByTheNext(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	leader, child := pidIn(t, filepath.Join(dir, "leader")), pidIn(t, filepath.Join(dir, "child"))
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // killed, as it says
	if !processAlive(leader) || !processAlive(child) {
		t.Fatal("the job did not outlive its agent")
	}

	s := startNode(t, filepath.Join(dir, "spool")).accept()
	s.welcome()
	wantLost(t, s.report(), 1)
	if processAlive(leader) || processAlive(child) {
		t.Error("the job outlived its report")
	}
}
