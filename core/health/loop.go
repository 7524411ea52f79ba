package health

import (
	"context"
	"fmt"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

// namedNodes is how many nodes are logged by name when many change at once.
const namedNodes = 10

// Run marks nodes down and up until ctx is done, and then returns nil. It is a task of
// the leader. Whatever was heard before it starts is forgotten.
func (m *Monitor) Run(ctx context.Context) error {
	m.forgive()
	ticker := time.NewTicker(m.config.HeartbeatEvery)
	defer ticker.Stop()
	rested := m.clock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// A controller that was itself stopped for a while, by a debugger or a paused
		// virtual machine, could not hear anybody: that says nothing about the nodes.
		if late := m.clock().Sub(rested); late > missedBeats*m.config.HeartbeatEvery {
			m.log.Warn("this controller stood still, every node gets a new grace period", "duration", late)
			m.forgive()
		}
		m.check(ctx)
		rested = m.clock()
	}
}

// forgive forgets all heartbeats, so that every node starts a whole grace period.
func (m *Monitor) forgive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.beats)
	now := m.clock()
	for node := range m.view().Nodes() {
		m.beatOf(node, now)
	}
}

// check proposes what follows from the silence of some nodes and the return of others.
func (m *Monitor) check(ctx context.Context) {
	marks := m.judge(m.view())
	if len(marks) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, m.config.ProposeTimeout)
	defer cancel()
	if _, err := m.proposer.Propose(bounded, core.MarkNodes{Marks: marks}); err != nil {
		if ctx.Err() == nil {
			m.log.Warn("nodes not marked, looking at them again", "nodes", len(marks), "error", err)
		}
		return
	}
	m.tell(marks)
}

// judge returns what ought to change of a view.
func (m *Monitor) judge(view *state.View) []core.NodeMark {
	now := m.clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	var marks []core.NodeMark
	for node := range view.Nodes() {
		b := m.beatOf(node, now)
		silence := now.Sub(b.since)
		switch {
		case node.Down && b.streak >= m.config.RecoverAfter && silence < missedBeats*m.config.HeartbeatEvery:
			marks = append(marks, core.NodeMark{Name: node.Name})
		case !node.Down && silence >= m.config.DownAfter:
			b.streak = 0
			marks = append(marks, core.NodeMark{
				Name: node.Name, Down: true, Reason: fmt.Sprintf("not heard from for %gs", m.config.DownAfter.Seconds()),
			})
		}
	}
	return marks
}

func (m *Monitor) tell(marks []core.NodeMark) {
	for i, mark := range marks {
		switch {
		case i == namedNodes:
			m.log.Warn("more nodes changed at once", "nodes", len(marks)-namedNodes)
			return
		case mark.Down:
			m.log.Warn("node is down", "node", mark.Name, "reason", mark.Reason)
		default:
			m.log.Info("node is back", "node", mark.Name)
		}
	}
}
