package main

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// populated is a controller with a job of each kind, two nodes and a status.
func populated(t *testing.T) *fakeAPI {
	t.Helper()
	f := newFakeAPI(t)
	f.jobs = []*core.Job{runningJob(), pendingArray(), failedElement()}
	f.nodes = []*core.Node{mixedNode(), drainedNode()}
	f.status = leaderStatus()
	return f
}

func TestQueuePrintsTheColumnsOfSqueue(t *testing.T) {
	want := `     JOBID PARTITION NAME  USER  ST    TIME NODES NODELIST(REASON)
         7 main      train alice R  1:00:05     2 n[1-2]
12_[4-7%2] main      sweep bob   PD    0:00     1 (Resources)
      12_3 main      sweep bob   F     0:42     1 n1
`
	if diff := cmp.Diff(want, populated(t).run(t, "queue").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestQueueWithoutHeader(t *testing.T) {
	f := newFakeAPI(t)
	if got := f.run(t, "queue", "-h").ok(t); got != "" {
		t.Errorf("an empty queue printed %q", got)
	}
}

func TestQueueAsksForWhatItWasAskedFor(t *testing.T) {
	f := newFakeAPI(t)
	f.run(t, "queue", "-u", "alice,bob", "-t", "PD,running", "-j", "7,8", "--all", "--stale").ok(t)
	want := &wire.ListJobsRequest{
		Stale: true, All: true, Users: []string{"alice", "bob"}, Ids: []uint64{7, 8},
		States: []wire.JobState{wire.JobState_JOB_STATE_PENDING, wire.JobState_JOB_STATE_RUNNING},
	}
	if diff := cmp.Diff(want, f.listed, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestQueueRefusesUnknownStatesAndJobs(t *testing.T) {
	rowel(t, "queue", "-t", "SLEEPING").fails(t, 64, `unknown job state "SLEEPING"`)
	rowel(t, "queue", "-j", "7_3").fails(t, 64, `"7_3" is an element of an array`)
}

func TestAnErrorOfTheControllerIsOneLineWithItsExitCode(t *testing.T) {
	for code, want := range map[connect.Code]int{
		connect.CodeNotFound:           core.ExitFailure,
		connect.CodeFailedPrecondition: core.ExitFailure,
		connect.CodePermissionDenied:   core.ExitFailure,
		connect.CodeInvalidArgument:    core.ExitBadInput,
		connect.CodeInternal:           core.ExitFailure,
	} {
		f := newFakeAPI(t)
		f.refuse = connect.NewError(code, errSaid)
		got := f.run(t, "job", "show", "7")
		if diff := cmp.Diff(result{want, "", "rowel: what the controller said\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s: %s", code, diff)
		}
	}
}

func TestJobShowPrintsARecordAsScontrolDoes(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{runningJob()}
	f.payload = &core.Payload{Argv: []string{"python3", "train.py"}}
	want := `JobId=7 JobName=train
   UserId=alice(1000) GroupId=100
   Priority=1048576 Nice=0 Partition=main
   JobState=RUNNING Reason=None Attempt=1
   ExitCode=0:0
   RunTime=01:00:05 TimeLimit=01:30:00
   SubmitTime=2026-12-01T10:00:00 StartTime=2026-12-01T10:59:55 EndTime=2026-12-01T12:29:55
   NumNodes=2 NumTasks=4 CPUs/Task=2 MinMemoryNode=2G
   NodeList=n[1-2]
   Policy=backfill@1.0.0 Cycle=42
   Comment=fold 1
   Command=python3 train.py
   WorkDir=/home/alice
   StdOut=slurm-%j.out
   StdErr=slurm-%j.out
`
	if diff := cmp.Diff(want, f.run(t, "job", "show", "7").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestJobShowPrintsEachRecordOfAnArray(t *testing.T) {
	f := newFakeAPI(t)
	f.jobs = []*core.Job{pendingArray(), failedElement()}
	want := `JobId=12 JobName=sweep
   ArrayJobId=12 ArrayTaskId=4-7
   UserId=bob(1001) GroupId=100
   Priority=1048476 Nice=100 Partition=main
   JobState=PENDING Reason=Resources Attempt=0
   Message=64 CPUs are not free on one node
   ExitCode=0:0
   RunTime=00:00:00 TimeLimit=UNLIMITED
   SubmitTime=2026-12-01T11:59:00 StartTime=Unknown EndTime=Unknown
   NumNodes=1 NumTasks=1 CPUs/Task=64 MinMemoryNode=0
   NodeList=
   Policy= Cycle=0
   WorkDir=/home/bob
   StdOut=slurm-%A_%a.out
   StdErr=slurm-%A_%a.out

JobId=13 JobName=sweep
   ArrayJobId=12 ArrayTaskId=3
   UserId=bob(1001) GroupId=100
   Priority=1048476 Nice=100 Partition=main
   JobState=FAILED Reason=RaisedSignal Attempt=1
   ExitCode=0:9
   RunTime=00:00:42 TimeLimit=UNLIMITED
   SubmitTime=2026-12-01T11:59:00 StartTime=2026-12-01T11:59:10 EndTime=2026-12-01T11:59:52
   NumNodes=1 NumTasks=1 CPUs/Task=64 MinMemoryNode=0
   NodeList=n1
   Policy=backfill@1.0.0 Cycle=41
   WorkDir=/home/bob
   StdOut=slurm-%A_%a.out
   StdErr=slurm-%A_%a.out
`
	if diff := cmp.Diff(want, f.run(t, "job", "show", "12").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryPrintsTheColumnsOfSacct(t *testing.T) {
	want := `JobID      JobName User  Partition State   ExitCode  Elapsed Start               End                 NodeList
7          train   alice main      RUNNING      0:0 01:00:05 2026-12-01T10:59:55 Unknown             n[1-2]
12_[4-7%2] sweep   bob   main      PENDING      0:0 00:00:00 Unknown             Unknown             None assigned
12_3       sweep   bob   main      FAILED       0:9 00:00:42 2026-12-01T11:59:10 2026-12-01T11:59:52 n1
`
	if diff := cmp.Diff(want, populated(t).run(t, "history").ok(t)); diff != "" {
		t.Error(diff)
	}
}

func TestHistorySaysWhenTheLimitCutSomeOff(t *testing.T) {
	f := populated(t)
	f.truncated = true
	got := f.run(t, "history", "-n", "3")
	if got.code != 0 || got.stderr != "rowel: there are more than 3: narrow the list, or raise --limit\n" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	if f.asked.GetLimit() != 3 {
		t.Errorf("asked for %d", f.asked.GetLimit())
	}
}

func TestHistoryAsksForATimeAndStates(t *testing.T) {
	f := newFakeAPI(t)
	f.run(t, "history", "-S", "2026-11-30", "-E", "now-1hour", "-s", "F", "-u", "bob").ok(t)
	since, until := f.asked.GetSince().AsTime(), f.asked.GetUntil().AsTime()
	if since.Format("01-02 15:04") != "11-30 00:00" || until.Format("01-02 15:04") != "12-01 11:00" {
		t.Errorf("asked from %v to %v", since, until)
	}
	if diff := cmp.Diff([]string{"bob"}, f.asked.GetUsers()); diff != "" {
		t.Error(diff)
	}
	rowel(t, "history", "-n", "0").fails(t, 64, "--limit must be at least 1")
	rowel(t, "history", "-n", "x").fails(t, 64, "history: invalid value \"x\"")
	rowel(t, "history", "-E", "soon").fails(t, 64, `--endtime: "soon" is no point in time`)
}
