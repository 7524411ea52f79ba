package dispatch

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func TestOutboxThatIsFullEndsTheSession(t *testing.T) {
	d := New(Config{}, nil, nil, nil, hclog.NewNullLogger())
	s := newSession(newTenure(d, nil), "192.0.2.7:1", nil)
	for range maxOutbox {
		s.push(&wire.ControllerMessage{})
	}
	if s.over() {
		t.Fatal("the session ended before the outbox was full")
	}
	s.push(&wire.ControllerMessage{})
	if !s.over() || core.KindOf(s.cause) != core.Exhausted {
		t.Errorf("session over: %v, cause %v", s.over(), s.cause)
	}
}

func TestReportsBeyondTheBoundAreNotTaken(t *testing.T) {
	r := newReports(nil, hclog.NewNullLogger())
	for range maxWaitingReports {
		if !r.add(core.JobReport{}, nil) {
			t.Fatal("refused before the bound")
		}
	}
	if r.add(core.JobReport{}, nil) {
		t.Error("took one more than the bound")
	}
}
