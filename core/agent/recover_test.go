package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

// leaveRecord writes what an agent that was killed would have left.
func leaveRecord(t *testing.T, dir string, key jobKey, lines ...recordLine) *spool {
	t.Helper()
	s, err := openSpool(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.begin(key); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := s.append(key, line); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func processLine(t *testing.T, pid int) recordLine {
	t.Helper()
	stat, err := readStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return recordLine{Process: &recordProcess{PID: pid, Start: stat.start, Boot: bootID()}}
}

func wantLost(t *testing.T, report core.JobReport, id core.JobID) {
	t.Helper()
	want := core.JobReport{
		Job: id, Attempt: 1, State: core.JobNodeFail, Reason: core.ReasonNodeDown,
		Message: "the agent on n1 restarted while the job ran",
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestRestartKillsWhatStillRunsAndReportsIt(t *testing.T) {
	dir := t.TempDir()
	key := jobKey{id: 3, attempt: 1}
	process := startBystander(t)
	leaveRecord(t, dir, key, processLine(t, process.Process.Pid))

	n := startNode(t, dir)
	s := n.accept()
	if got := s.welcome().GetRunning(); len(got) != 1 || got[0].GetJob() != 3 {
		t.Errorf("hello lists %v, want job 3", got)
	}
	within(t, "the session is killed", func() bool { return len(n.agent.sessions.of(process.Process.Pid)) == 0 })
	wantLost(t, s.report(), 3)
	within(t, "the record is gone", func() bool { return !exists(filepath.Join(dir, "jobs", "3.1")) })
}

func TestRestartFindsProcessThatNeverReachedItsRecord(t *testing.T) {
	dir := t.TempDir()
	key := jobKey{id: 3, attempt: 1}
	old := leaveRecord(t, dir, key)
	process := startBystander(t, recordVariable+"="+old.recordPath(key))

	n := startNode(t, dir)
	s := n.accept()
	s.welcome()
	wantLost(t, s.report(), 3)
	if processAlive(process.Process.Pid) {
		t.Error("the process outlived its job")
	}
}

func TestRestartSparesStrangerWithTheSameNumber(t *testing.T) {
	dir := t.TempDir()
	process := startBystander(t)
	line := processLine(t, process.Process.Pid)
	line.Process.Start--
	leaveRecord(t, dir, jobKey{id: 3, attempt: 1}, line)
	line = processLine(t, process.Process.Pid)
	line.Process.Boot = "an earlier boot"
	leaveRecord(t, dir, jobKey{id: 4, attempt: 1}, line)

	n := startNode(t, dir)
	s := n.accept()
	s.welcome()
	if got := s.reports(); len(got) != 2 {
		t.Errorf("%d reports, want 2", len(got))
	}
	if !processAlive(process.Process.Pid) {
		t.Error("a stranger was killed")
	}
}

func TestEndWithoutAcknowledgementSurvivesRestart(t *testing.T) {
	n, s := connected(t)
	job := testJob(t, 5)
	s.launch(job, script("echo run >> runs; exit 9"))
	first := s.reports()
	n.stop()

	second := startNode(t, n.cfg.SpoolDir)
	s = second.accept()
	if got := s.welcome().GetRunning(); len(got) != 1 || got[0].GetJob() != 5 {
		t.Errorf("hello lists %v, want job 5", got)
	}
	s.launch(job, script("echo run >> runs"))
	if diff := cmp.Diff(first, s.reports()); diff != "" {
		t.Errorf("reports (-before +after):\n%s", diff)
	}
	s.acknowledge(first...)
	fence(t, s)
	if got := readFile(t, job.Spec.WorkDir+"/runs"); got != "run\n" {
		t.Errorf("runs: %q, want one", got)
	}
}

func TestLostJobIsReportedAgainUntilAcknowledged(t *testing.T) {
	dir := t.TempDir()
	leaveRecord(t, dir, jobKey{id: 3, attempt: 1})
	n := startNode(t, dir)
	s := n.accept()
	s.welcome()
	wantLost(t, s.reports()[0], 3)
	n.stop()

	s = startNode(t, dir).accept()
	s.welcome()
	wantLost(t, s.report(), 3)
}

func TestUnreadableRecordIsReportedAndKept(t *testing.T) {
	tests := map[string]string{
		"empty":     "",
		"torn":      `{"begun":{"job":3,"att`,
		"garbage":   "\x00\x01\n",
		"not ours":  `{"begun":{"job":4,"attempt":1}}` + "\n",
		"no ending": `{"begun":{"job":3,"attempt":1}}` + "\n" + `{"end":{"state":"RUNNING"}}` + "\n",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := openSpool(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "jobs", "3.1")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := startNode(t, dir).accept()
			s.welcome()
			wantLost(t, s.report(), 3)
			within(t, "the record is set aside", func() bool { return exists(path+unreadable) && !exists(path) })
			if got := readFile(t, path+unreadable); got != content {
				t.Errorf("record holds %q, want %q as it was", got, content)
			}
		})
	}
}

func TestFilesThatAreNoRecordsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if _, err := openSpool(dir); err != nil {
		t.Fatal(err)
	}
	names := []string{"notes", "03.1", "3.1.unreadable", "0.1"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, "jobs", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := startNode(t, dir)
	s := n.accept()
	if got := s.welcome().GetRunning(); len(got) != 0 {
		t.Errorf("hello lists %v, want nothing", got)
	}
	n.stop()
	for _, name := range names {
		if !exists(filepath.Join(dir, "jobs", name)) {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestDecodeRecordKeepsWholeLines(t *testing.T) {
	key := jobKey{id: 3, attempt: 1}
	end := core.JobReport{Job: 3, Attempt: 1, State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: 2, Message: "m"}
	var data []byte
	for _, line := range []recordLine{
		{Begun: &recordBegun{Job: 3, Attempt: 1}}, {Process: &recordProcess{PID: 5, Start: 6, Boot: "b"}}, endLine(end),
	} {
		text, err := line.encode()
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, text...)
	}
	whole, err := decodeRecord(key, data)
	if err != nil || whole.end == nil || whole.process == nil {
		t.Fatalf("record %+v, %v, want process and end", whole, err)
	}
	if diff := cmp.Diff(end, *whole.end); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
	torn, err := decodeRecord(key, data[:len(data)-1])
	if err != nil || torn.end != nil || torn.process == nil {
		t.Errorf("record %+v, %v, want a process and no end", torn, err)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"begun":{"job":3,"attempt":1}}` + "\n" + `{"process":{"pid":5,"start":6,"boot":"b"}}` + "\n" + `{"end":{"state":"FAILED","exit_code":2}}` + "\n"))
	f.Add([]byte(`{"begun":{"job":3,"attempt":1}}` + "\n" + `{"end":{"state":"RUNN`))
	f.Add([]byte("null\n{}\n"))
	f.Add([]byte(""))
	key := jobKey{id: 3, attempt: 1}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(key, data)
		if err != nil {
			return
		}
		if r.begun != (recordBegun{Job: 3, Attempt: 1}) {
			t.Errorf("a record of %+v passes for one of %s", r.begun, key)
		}
		if r.end != nil && (!r.end.State.Terminal() || reportKey(*r.end) != key) {
			t.Errorf("end %+v is not one of %s", *r.end, key)
		}
	})
}

func FuzzParseJobKey(f *testing.F) {
	for _, seed := range []string{"1.1", "18446744073709551615.4294967295", "0.0", "01.1", "1", "1.1.unreadable", "+1.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseJobKey(text)
		if err == nil && key.String() != text {
			t.Errorf("%q is read as %s", text, key)
		}
	})
}
