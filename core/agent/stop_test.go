package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTimeLimitKillsWhatIgnoresSIGTERM(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	job.Spec.TimeLimit = time.Second
	s.launch(job, script(`trap "" TERM; sh -c 'echo $$ > child; while :; do sleep 300; done'`))
	child := pidIn(t, job.Spec.WorkDir+"/child")
	want := core.JobReport{
		Job: 1, Attempt: 1, State: core.JobTimeout, Reason: core.ReasonTimeLimit,
		Message: "it reached its time limit of 1s", Signal: 9,
	}
	if diff := cmp.Diff(want, s.report()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if processAlive(child) {
		t.Errorf("child %d outlived the time limit", child)
	}
}

func TestTerminateEndsTheWholeSession(t *testing.T) {
	tests := []struct{ name, script string }{
		{"background child", `sleep 300 & echo $! > child; wait`},
		{"child in a group of its own", `timeout 300 sh -c 'echo $$ > child; exec sleep 300'`},
		{"stopped child", `sh -c 'echo $$ > child; kill -STOP $$'; sleep 300`},
		{"orphan that ignores SIGTERM", `(trap "" TERM; sh -c 'echo $$ > child; while :; do sleep 300; done') & exec sleep 300`},
	}
	_, s := connected(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := testJob(t, core.JobID(i+1))
			s.launch(job, script(test.script))
			child := pidIn(t, job.Spec.WorkDir+"/child")
			s.terminate(job)
			report := s.report()
			if report.State != core.JobCancelled || report.Message != "cancelled by alice" {
				t.Errorf("report %+v, want CANCELLED by alice", report)
			}
			if processAlive(child) {
				t.Errorf("child %d outlived the cancel", child)
			}
		})
	}
}

func TestTerminateLeavesAProgramItsGraceWhenItsShellIsGone(t *testing.T) {
	_, s := connected(t, func(a *Agent) { a.killWait = time.Minute })
	job := testJob(t, 1)
	s.launch(job, script(`sh -c 'trap "echo saved > checkpoint; exit" TERM; echo $$ > child; while :; do sleep 0.01; done'; true`))
	pidIn(t, job.Spec.WorkDir+"/child")
	s.terminate(job)
	if report := s.report(); report.State != core.JobCancelled || report.Signal != int32(unix.SIGTERM) {
		t.Errorf("report %+v, want CANCELLED with the shell's SIGTERM", report)
	}
	if got := readFile(t, job.Spec.WorkDir+"/checkpoint"); got != "saved\n" {
		t.Errorf("checkpoint %q, want that the program had time to save", got)
	}
}

func TestTerminateOfUnknownJobReportsNothing(t *testing.T) {
	_, s := connected(t)
	s.terminate(testJob(t, 5))
	fence(t, s)
}

func TestEndKillsWhatTheJobLeftBehind(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("sleep 300 & echo $! > child"))
	if report := s.report(); report.State != core.JobCompleted {
		t.Errorf("report %+v, want COMPLETED", report)
	}
	child := pidIn(t, job.Spec.WorkDir+"/child")
	within(t, "the child is gone", func() bool { return !processAlive(child) })
}

func TestTerminateBeforeTheStartRunsNothing(t *testing.T) {
	n, _ := connected(t)
	payload := script("touch ran")
	j := &job{key: jobKey{id: 1, attempt: 1}, info: testJob(t, 1), payload: &payload, done: make(chan struct{})}
	j.stop(time.Second, core.JobReport{State: core.JobCancelled, Message: "too late"})
	report := n.agent.run(j, nil)
	if report.State != core.JobCancelled || exists(j.info.Spec.WorkDir+"/ran") {
		t.Errorf("report %+v, want CANCELLED and nothing run", report)
	}
}

func TestParseStatCountsFromTheLastBracket(t *testing.T) {
	line := "42 (a) b) c) S 1 40 30 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"
	got, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if want := (procStat{pid: 42, state: 'S', group: 40, session: 30, start: 12345}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 1 40 30 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"))
	f.Add([]byte(")(" + strings.Repeat(" 1", 30)))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		stat, err := parseStat(data)
		if err == nil && stat.state == 0 {
			t.Errorf("%q is read as a process without a state", data)
		}
	})
}

// ownerOf returns the user whom a file belongs to.
func ownerOf(t *testing.T, path string) uint32 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Uid
}
