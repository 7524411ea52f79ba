package core

import (
	"testing"
	"time"
)

func TestTerminalStatesLeadNowhere(t *testing.T) {
	for s := JobPending; s <= JobBootFail; s++ {
		if !s.Known() {
			t.Errorf("state %d has no name", s)
		}
		for next := JobPending; next <= JobBootFail; next++ {
			if s.Terminal() && s.CanBecome(next) {
				t.Errorf("%v is over and can become %v", s, next)
			}
		}
		if s.Terminal() && s.Allocated() {
			t.Errorf("%v is over and holds resources", s)
		}
	}
}

func TestJobCannotStartTwice(t *testing.T) {
	job := Job{ID: 7, State: JobRunning}
	err := job.Transition(JobRunning)
	if KindOf(err) != Conflict || err == nil || err.Error() != "job 7 is RUNNING and cannot become RUNNING" {
		t.Error(err)
	}
	if job.State != JobRunning {
		t.Errorf("it is %v now", job.State)
	}
}

func TestPendingJobDoesNotCompleteUnrun(t *testing.T) {
	if JobPending.CanBecome(JobCompleted) || JobPending.CanBecome(JobCompleting) {
		t.Error("a job that never ran can complete")
	}
}

func TestParseJobStateTakesNamesAndCodes(t *testing.T) {
	for s := JobPending; s <= JobBootFail; s++ {
		for _, text := range []string{s.String(), s.Code()} {
			if got, err := ParseJobState(text); err != nil || got != s {
				t.Errorf("%s is %v, %v", text, got, err)
			}
		}
	}
	if got, err := ParseJobState("pending"); err != nil || got != JobPending {
		t.Errorf("lower case gave %v, %v", got, err)
	}
	if _, err := ParseJobState("SLEEPING"); KindOf(err) != Invalid || err == nil {
		t.Error(err)
	}
}

func TestStateThatIsNotKnownHasNoPowers(t *testing.T) {
	for _, s := range []JobState{0, JobBootFail + 1, 255} {
		if s.Known() || s.Terminal() || s.Allocated() || s.CanBecome(JobRunning) {
			t.Errorf("%v", s)
		}
	}
}

func TestPerNodeChargesTheFullestNode(t *testing.T) {
	cases := []struct {
		name string
		spec JobSpec
		want Resources
	}{
		{"one task", JobSpec{Nodes: 1, Tasks: 1, CPUsPerTask: 1}, Resources{CPUs: 1}},
		{"even", JobSpec{Nodes: 2, Tasks: 4, CPUsPerTask: 3, MemoryMiB: 10}, Resources{CPUs: 6, MemoryMiB: 10}},
		{"uneven", JobSpec{Nodes: 3, Tasks: 7, CPUsPerTask: 2}, Resources{CPUs: 6}},
		{"memory for each CPU", JobSpec{Nodes: 1, Tasks: 2, CPUsPerTask: 2, MemPerCPU: 100}, Resources{CPUs: 4, MemoryMiB: 400}},
		{"the largest", JobSpec{Nodes: 1, Tasks: 1 << 20, CPUsPerTask: 1, MemPerCPU: MaxMemoryMiB}, Resources{CPUs: 1 << 20, MemoryMiB: 1 << 52}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.spec.PerNode(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestStartableKeepsArrayLimit(t *testing.T) {
	spec := &JobSpec{Array: &ArraySpec{MaxAtOnce: 3}}
	job := Job{State: JobPending, Spec: spec, ArrayID: 1, ArrayPending: mustParse(t, "0-9")}
	for running, want := range []uint32{3, 2, 1, 0, 0} {
		job.ArrayRunning = uint32(running)
		if got := job.Startable(); got != want {
			t.Errorf("%d running: %d, want %d", running, got, want)
		}
	}
	job.ArrayRunning, job.ArrayPending = 0, mustParse(t, "9")
	if got := job.Startable(); got != 1 {
		t.Errorf("one left: %d", got)
	}
	job.State = JobCancelled
	if got := job.Startable(); got != 0 {
		t.Errorf("cancelled: %d", got)
	}
}

func TestDisplayIDIsSlurms(t *testing.T) {
	limited := &JobSpec{Array: &ArraySpec{MaxAtOnce: 2}}
	cases := map[string]Job{
		"12":         {ID: 12},
		"12_3":       {ID: 14, ArrayID: 12, ArrayIndex: 3},
		"12_[4-7]":   {ID: 12, ArrayID: 12, Spec: &JobSpec{}, ArrayPending: mustParse(t, "4-7")},
		"12_[4-7%2]": {ID: 12, ArrayID: 12, Spec: limited, ArrayPending: mustParse(t, "4-7")},
	}
	for want, job := range cases {
		if got := job.DisplayID(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestExpectedEndNeedsALimitAndAStart(t *testing.T) {
	started := time.Unix(1000, 0)
	job := Job{Spec: &JobSpec{TimeLimit: time.Minute}, StartedAt: started}
	if end, ok := job.ExpectedEnd(); !ok || !end.Equal(started.Add(time.Minute)) {
		t.Errorf("got %v, %v", end, ok)
	}
	job.Spec = &JobSpec{TimeLimit: Unlimited}
	if _, ok := job.ExpectedEnd(); ok {
		t.Error("an unlimited job ends")
	}
	if _, ok := (&Job{Spec: &JobSpec{TimeLimit: time.Minute}}).ExpectedEnd(); ok {
		t.Error("a job that has not started ends")
	}
}

func TestNodeStateIsSinfos(t *testing.T) {
	capacity := Resources{CPUs: 2}
	cases := map[NodeState]Node{
		NodeIdle:      {Capacity: capacity},
		NodeMixed:     {Capacity: capacity, Jobs: 1, Allocated: Resources{CPUs: 1}},
		NodeAllocated: {Capacity: capacity, Jobs: 1, Allocated: Resources{CPUs: 2}},
		NodeDraining:  {Capacity: capacity, Jobs: 1, Drain: true},
		NodeDrained:   {Capacity: capacity, Drain: true},
		NodeDown:      {Capacity: capacity, Drain: true, Down: true},
	}
	for want, node := range cases {
		if got := node.State(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestFreeOfShrunkNodeIsNeverNegative(t *testing.T) {
	node := Node{Capacity: Resources{CPUs: 1, MemoryMiB: 5}, Allocated: Resources{CPUs: 4, MemoryMiB: 2}}
	if got := node.Free(); got != (Resources{MemoryMiB: 3}) {
		t.Errorf("got %v", got)
	}
}
