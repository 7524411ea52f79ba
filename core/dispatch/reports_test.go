package dispatch_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestReportIsAcknowledgedOnceItIsDurable(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		release := r.hold()
		a.report(core.JobCompleted, id)
		a.nothing()
		release()
		if diff := cmp.Diff([]core.JobID{id}, a.acked()); diff != "" {
			t.Errorf("acknowledged (-want +got):\n%s", diff)
		}
		if got := r.job(id).State; got != core.JobCompleted {
			t.Errorf("job is %s", got)
		}
	})
}

func TestReportsGatherWhileAProposalIsUnderWay(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a, b := r.connect("n1", "a1"), r.connect("n2", "a2")
		defer a.hangUp()
		defer b.hangUp()
		var ofA, ofB []core.JobID
		for range 5 {
			ofA, ofB = append(ofA, r.start("n1")), append(ofB, r.start("n2"))
			a.launched()
			b.launched()
		}
		release := r.hold()
		a.report(core.JobCompleted, ofA[0])
		synctest.Wait()
		for i := 1; i < 5; i++ {
			a.report(core.JobCompleted, ofA[i])
		}
		b.report(core.JobFailed, ofB...)
		synctest.Wait()
		release()
		first, rest := a.acked(), a.acked()
		if !slices.Equal(first, ofA[:1]) || !slices.Equal(rest, ofA[1:]) || !slices.Equal(b.acked(), ofB) {
			t.Errorf("agent 1 had %v, then %v acknowledged", first, rest)
		}
		if diff := cmp.Diff([]int{1, 9}, r.proposed()); diff != "" {
			t.Errorf("reports in each proposal (-want +got):\n%s", diff)
		}
	})
}

func TestOneProposalHasAtMostAThousandReports(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		unknown := make([]core.JobID, 2500)
		for i := range unknown {
			unknown[i] = core.JobID(i + 1)
		}
		a.report(core.JobCompleted, unknown...)
		for acked := 0; acked < len(unknown); {
			acked += len(a.acked())
		}
		if sizes := r.proposed(); slices.Max(sizes) != 1000 {
			t.Errorf("reports in each proposal: %v", sizes)
		}
	})
}

func TestReportOfAnOlderAttemptIsAcknowledgedWithoutEffect(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		older := wire.FromReport(core.JobReport{Job: id, Attempt: 0, State: core.JobFailed})
		a.say(&wire.AgentMessage{Kind: &wire.AgentMessage_Reports{Reports: &wire.JobReports{Reports: []*wire.JobReport{older}}}})
		a.acked()
		if got := r.job(id).State; got != core.JobRunning || len(r.proposed()) != 0 {
			t.Errorf("job is %s after %d proposals", got, len(r.proposed()))
		}
	})
}

func TestReportOnAnotherNodesJobHasNoEffect(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a, b := r.connect("n1", "a1"), r.connect("n2", "a2")
		defer a.hangUp()
		defer b.hangUp()
		id := r.start("n1")
		a.launched()
		b.report(core.JobFailed, id)
		b.acked()
		if got := r.job(id).State; got != core.JobRunning {
			t.Errorf("job is %s", got)
		}
	})
}

func TestReportsAreProposedUntilTheyAreReplicated(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		defer a.hangUp()
		id := r.start("n1")
		a.launched()
		tries := 0
		r.refuseReports(func(core.ReportJobs) error {
			if tries++; tries < 4 {
				return core.Errorf(core.Unknown, "no majority")
			}
			return nil
		})
		a.report(core.JobCompleted, id)
		a.acked()
		if diff := cmp.Diff([]int{1, 1, 1, 1}, r.proposed()); diff != "" {
			t.Errorf("proposals (-want +got):\n%s", diff)
		}
	})
}

func TestRefusedReportHoldsUpNoOther(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a, b := r.connect("n1", "a1"), r.connect("n2", "a2")
		defer a.hangUp()
		var good []core.JobID
		bad := r.start("n2")
		b.launched()
		for range 4 {
			good = append(good, r.start("n1"))
			a.launched()
		}
		r.refuseReports(func(c core.ReportJobs) error {
			for _, report := range c.Reports {
				if report.Job == bad {
					return core.Errorf(core.Invalid, "malformed")
				}
			}
			return nil
		})
		release := r.hold()
		a.report(core.JobCompleted, good[0])
		synctest.Wait()
		b.report(core.JobCompleted, bad)
		a.report(core.JobCompleted, good[1:]...)
		synctest.Wait()
		release()
		var acked []core.JobID
		for len(acked) < len(good) {
			acked = append(acked, a.acked()...)
		}
		if !slices.Equal(acked, good) {
			t.Errorf("acknowledged %v, want %v", acked, good)
		}
		if err := <-b.ended; core.KindOf(err) != core.Invalid {
			t.Errorf("the session of the refused report ended with %v", err)
		}
	})
}

func TestReportOfNoEndIsRefused(t *testing.T) {
	inRoom(t, func(t *testing.T, r *room) {
		a := r.connect("n1", "a1")
		a.report(core.JobRunning, 1)
		if err := <-a.ended; core.KindOf(err) != core.Invalid {
			t.Errorf("session ended with %v", err)
		}
	})
}
