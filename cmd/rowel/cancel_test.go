package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestCancelTellsAboutEachJobThatFails(t *testing.T) {
	f := newFakeAPI(t)
	f.unknown = "8_3"
	got := f.run(t, "cancel", "7", "8_3", "12_[1-2]")
	if diff := cmp.Diff(result{1, "", "rowel: there is no job 8_3\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"7", "8_3", "12_1", "12_2"}, f.cancelled); diff != "" {
		t.Error(diff)
	}
}

func TestCancelPicksJobsByFilterAndLeavesRunningElementsOfAnArrayAlone(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{pendingArray()}
	f.run(t, "cancel", "-u", "bob", "-t", "PENDING", "-n", "sweep").ok(t)
	if diff := cmp.Diff([]string{"12_4", "12_5", "12_6", "12_7"}, f.cancelled); diff != "" {
		t.Error(diff)
	}
	if got := f.listed.GetStates(); len(got) != 1 || got[0] != wire.JobState_JOB_STATE_PENDING {
		t.Errorf("asked for states %v", got)
	}
}

func TestCancelByNameLeavesOthersAndWhatIsOver(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{runningJob(), pendingArray(), failedElement()}
	f.run(t, "cancel", "--name", "train").ok(t)
	if diff := cmp.Diff([]string{"7"}, f.cancelled); diff != "" {
		t.Error(diff)
	}
}

func TestCancelNeverTakesAnEmptyCommandLineForEverything(t *testing.T) {
	rowel(t, "cancel").fails(t, 64, "cancel: name jobs by number, or pick them")
	f := newFakeAPI(t)
	f.run(t, "cancel", "-u", "bob", "7_1").fails(t, 64, "elements such as 7_1 cannot be combined")
	f.run(t, "cancel", "-u", "").fails(t, 64, "cancel: --user, --state and --name need values")
	if len(f.cancelled) > 0 {
		t.Errorf("cancelled %q", f.cancelled)
	}
}

func TestWaitExitsWithTheHighestCode(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{endedJob(core.JobCompleted, 0, 0), endedJob(core.JobFailed, 3, 0), endedJob(core.JobFailed, 0, 9)}
	f.run(t, "wait", "7").fails(t, 137, "job 7 was ended by signal 9 (SIGKILL)")
	rowel(t, "wait").fails(t, 64, "wait: JOB... is missing")
}

func TestLogsKeepsStreamsApart(t *testing.T) {
	f := newFakeAPI(t)
	f.output = []*wire.LogsResponse{stdoutChunk("out\n"), stderrChunk("err\n")}
	for want, words := range map[result][]string{
		{0, "out\n", "err\n"}: {"logs", "-f", "7"},
		{0, "out\n", ""}:      {"logs", "--stream=stdout", "7"},
		{0, "", "err\n"}:      {"logs", "--stream=stderr", "12_3"},
	} {
		if got := f.run(t, words...); got != want {
			t.Errorf("%q gave %+v, want %+v", words, got, want)
		}
	}
	rowel(t, "logs", "--stream=both", "7").fails(t, 64, "--stream is stdout or stderr")
}
