package probe_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core/probe"
)

func TestNewProbeIsLiveAndNotReady(t *testing.T) {
	p := probe.New(nil)
	if p.Live() != probe.OK || p.Ready() != probe.Joining {
		t.Errorf("new probe: livez %s, readyz %s", p.Live(), p.Ready())
	}
}

func TestReadyNeedsEveryCheck(t *testing.T) {
	p := probe.New(nil)
	leader := p.Check("leader", probe.NoLeader)
	state := p.Check("state", probe.Restoring)
	if p.Ready() != probe.NoLeader {
		t.Errorf("readyz %s, want the word of the first check that fails", p.Ready())
	}
	leader.Set(probe.OK)
	if p.Ready() != probe.Restoring {
		t.Errorf("readyz %s, want the word of the check that still fails", p.Ready())
	}
	state.Set(probe.OK)
	if p.Ready() != probe.OK {
		t.Errorf("readyz %s, want ok when all are", p.Ready())
	}
	state.Set(probe.Stalled)
	if p.Ready() != probe.Stalled || p.Live() != probe.OK {
		t.Errorf("livez %s, readyz %s, want a stalled process to be live and not ready", p.Live(), p.Ready())
	}
}

func TestDeadFailsBothWhateverTheOrder(t *testing.T) {
	p := probe.New(nil)
	p.Check("leader", probe.NoLeader)
	p.Check("core", probe.OK).Set(probe.Dead)
	if p.Live() != probe.Dead || p.Ready() != probe.Dead {
		t.Errorf("livez %s, readyz %s, want both dead", p.Live(), p.Ready())
	}
}

func TestDeadIsFinal(t *testing.T) {
	p := probe.New(nil)
	c := p.Check("core", probe.OK)
	c.Set(probe.Dead)
	c.Set(probe.OK)
	if p.Live() != probe.Dead {
		t.Errorf("livez %s after death", p.Live())
	}
}

func TestEachTransitionIsToldOnceInOrder(t *testing.T) {
	var got []string
	p := probe.New(func(endpoint probe.Endpoint, from, to probe.Word) {
		got = append(got, fmt.Sprintf("%s %s>%s", endpoint, from, to))
	})
	leader := p.Check("leader", probe.NoLeader)
	state := p.Check("state", probe.CatchingUp)
	state.Set(probe.OK) // no transition: there is still no leader
	leader.Set(probe.OK)
	leader.Set(probe.OK)
	leader.Set(probe.Dead)
	want := []string{
		"readyz joining>no-leader",
		"readyz no-leader>ok",
		"livez ok>dead",
		"readyz ok>dead",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
