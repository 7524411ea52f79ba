package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/wire"
)

func stdoutChunk(text string) *wire.LogsResponse {
	return &wire.LogsResponse{Stream: wire.OutputStream_OUTPUT_STREAM_STDOUT, Data: []byte(text)}
}

func stderrChunk(text string) *wire.LogsResponse {
	return &wire.LogsResponse{Stream: wire.OutputStream_OUTPUT_STREAM_STDERR, Data: []byte(text)}
}

func TestRunShowsOutputAndExitsAsTheJobDid(t *testing.T) {
	f := newFakeAPI(t)
	f.output = []*wire.LogsResponse{stdoutChunk("out\n"), stderrChunk("err\n")}
	f.jobs = []*core.Job{endedJob(core.JobFailed, 3, 0)}
	f.jobs[0].Reason = core.ReasonNonZeroExitCode

	got := f.run(t, "run", "-n2", "make", "-j4")

	if diff := cmp.Diff(result{3, "out\n", "err\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	sent := f.submission(t)
	if diff := cmp.Diff([]string{"make", "-j4"}, sent.Payload.Argv); diff != "" {
		t.Error(diff)
	}
	if sent.Spec.Name != "make" || sent.Spec.Output != "" || sent.Spec.Tasks != 2 {
		t.Errorf("submitted %+v", sent.Spec)
	}
}

func TestRunTellsHowAJobEndedThatDidNotExit(t *testing.T) {
	for _, c := range []struct {
		state   core.JobState
		signal  int32
		reason  core.Reason
		message string
		code    int
		told    string
	}{
		{core.JobCompleted, 0, core.ReasonNone, "", 0, ""},
		{core.JobFailed, 9, core.ReasonRaisedSignal, "", 137, "job 7 was ended by signal 9 (SIGKILL)"},
		{core.JobFailed, 0, core.ReasonJobLaunchFailure, "no such directory", 1, "job 7 ended as FAILED: JobLaunchFailure (no such directory)"},
		{core.JobTimeout, 15, core.ReasonTimeLimit, "", 1, "job 7 ended as TIMEOUT: TimeLimit"},
		{core.JobCancelled, 15, core.ReasonNone, "", 1, "job 7 ended as CANCELLED by alice"},
		{core.JobNodeFail, 0, core.ReasonNodeDown, "n1 does not answer", 1, "job 7 ended as NODE_FAIL: NodeDown (n1 does not answer)"},
	} {
		f := newFakeAPI(t)
		j := endedJob(c.state, 0, c.signal)
		j.Reason, j.Message, j.CancelledBy = c.reason, c.message, "alice"
		f.jobs = []*core.Job{j}
		got := f.run(t, "run", "--", "true")
		if told := strings.TrimSpace(strings.TrimPrefix(got.stderr, "rowel: ")); got.code != c.code || told != c.told {
			t.Errorf("%s: exit code %d, told %q; want %d, %q", c.state, got.code, told, c.code, c.told)
		}
	}
}

// attached runs follow on a job that is not over until its channel is closed.
type attached struct {
	*fakeAPI
	interrupts chan os.Signal
	stderr     *watchedBuffer
	outcome    chan error
}

func attach(t *testing.T, j *core.Job) *attached {
	t.Helper()
	f := newFakeAPI(t)
	f.jobs = []*core.Job{j}
	f.ended = make(chan struct{})
	client, err := api.NewClient([]string{f.address}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	a := &attached{fakeAPI: f, interrupts: make(chan os.Signal), stderr: newWatchedBuffer(), outcome: make(chan error, 1)}
	job := &core.Submission{Spec: *j.Spec, Payload: core.Payload{Argv: []string{"true"}}}
	go func() {
		a.outcome <- follow(context.Background(), client, job, &attachment{
			stdout: &bytes.Buffer{}, stderr: a.stderr, interrupts: a.interrupts, quiet: time.Millisecond,
		})
	}()
	return a
}

func (a *attached) exitCode(t *testing.T) int {
	t.Helper()
	err := <-a.outcome
	var exit *exitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.code
}

func TestRunSaysWhyAJobWaits(t *testing.T) {
	waiting := runningJob()
	waiting.State, waiting.Placements = core.JobPending, nil
	waiting.Reason, waiting.Message = core.ReasonResources, "4 CPUs are not free"
	a := attach(t, waiting)
	a.stderr.until(t, "rowel: job 7 is waiting: Resources (4 CPUs are not free)\n")

	unlock := a.lock()
	a.jobs = []*core.Job{endedJob(core.JobCompleted, 0, 0)}
	unlock()
	close(a.ended)
	if code := a.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestRunCancelsTheJobAtTheFirstInterrupt(t *testing.T) {
	a := attach(t, runningJob())
	a.onCancel = func() { // holds the lock
		a.jobs = []*core.Job{endedJob(core.JobCancelled, 0, 15)}
		close(a.ended)
	}
	<-a.shown
	a.interrupts <- unix.SIGINT
	if code := a.exitCode(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if diff := cmp.Diff([]string{"7"}, a.cancelled); diff != "" {
		t.Error(diff)
	}
}

func TestRunLeavesTheJobAtTheSecondInterrupt(t *testing.T) {
	a := attach(t, runningJob())
	<-a.shown
	a.interrupts <- unix.SIGINT
	a.stderr.until(t, "rowel: cancelling job 7; interrupt again to leave it to itself\n")
	a.interrupts <- unix.SIGINT
	if code := a.exitCode(t); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

func TestRunTellsOfLostOutputUnlessTheJobNeverRan(t *testing.T) {
	f := newFakeAPI(t)
	f.loseOutput = true
	f.jobs = []*core.Job{endedJob(core.JobCompleted, 0, 0)}
	if got := f.run(t, "run", "true"); got.code != 0 || got.stderr != "rowel: the output of job 7 is lost to us: what the controller said\n" {
		t.Errorf("got %+v", got)
	}

	f.jobs[0].State, f.jobs[0].Reason = core.JobFailed, core.ReasonJobLaunchFailure
	if got := f.run(t, "run", "true"); got.code != 1 || got.stderr != "rowel: job 7 ended as FAILED: JobLaunchFailure\n" {
		t.Errorf("got %+v", got)
	}
}

func TestRunRefusesNothingToRun(t *testing.T) {
	rowel(t, "run").fails(t, 64, "run: the command is missing")
	rowel(t, "run", "--array=1-3", "x").fails(t, 64, `run: no option "--array"`)
}
