package scheduler_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/backfill"
)

func TestShippedPolicyBackfillsAroundAWideJob(t *testing.T) {
	c := newCluster(t, size(4, 0), size(4, 0))
	for range 2 { // one node is taken for an hour
		c.submit(2)
	}
	easy := newPolicy("backfill@1.0.0", func(p *abi.Picture) (*abi.Plan, error) {
		return sdk.Run(backfill.EASY, p), nil
	})
	c.cycleWith(easy, easy)

	wide := c.submit(4, onNodes(2))
	long := c.submit(4, func(s *core.JobSpec) { s.TimeLimit = 2 * time.Hour })
	short := c.submit(4, func(s *core.JobSpec) { s.TimeLimit = time.Minute })
	out := c.cycleWith(easy, easy)
	if out.Fault != nil {
		t.Fatalf("the shipped policy was caught at %+v", out.Fault)
	}
	got := map[string]string{}
	for name, id := range map[string]core.JobID{"wide": wide, "long": long, "short": short} {
		job := c.job(id)
		got[name] = job.State.String() + " " + job.Reason.String()
	}
	want := map[string]string{"wide": "PENDING Resources", "long": "PENDING Priority", "short": "RUNNING None"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if again := c.cycleWith(easy, easy); again.Started != 0 || again.Waits != 0 {
		t.Fatalf("nothing changed, and the next cycle did %+v", again)
	}
}
