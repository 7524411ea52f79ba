package core

import "time"

// NodeState is what sinfo shows of a node. It is derived, never stored.
type NodeState string

// The states of a node, with Slurm's names.
const (
	NodeIdle      NodeState = "IDLE"
	NodeMixed     NodeState = "MIXED"
	NodeAllocated NodeState = "ALLOCATED"
	NodeDraining  NodeState = "DRAINING" // takes no new jobs, some still run
	NodeDrained   NodeState = "DRAINED"
	NodeDown      NodeState = "DOWN"
)

// Node is a machine that an agent has registered. A *Node that came out of a View is
// shared and must not be changed.
type Node struct {
	Name    string
	Address string // where the agent runs, as its controller sees it
	Labels  map[string]string

	Capacity  Resources
	Allocated Resources
	Jobs      uint32 // placements that hold resources now

	// Agent is the registration that speaks for the node: random, made each time an
	// agent process starts.
	Agent   string
	BootID  string // changes when the machine starts anew
	Version string // of the agent
	OS      string // such as "linux 6.18.0 amd64"

	Down        bool
	DownReason  string
	Drain       bool
	DrainReason string
	DrainedBy   string

	RegisteredAt time.Time
	ChangedAt    time.Time // of Down or Drain
	ModifyIndex  uint64
}

// Free returns what a new placement could take, whatever the node's state.
func (n *Node) Free() Resources { return n.Capacity.Minus(n.Allocated) }

// Schedulable reports whether the node takes new jobs.
func (n *Node) Schedulable() bool { return !n.Down && !n.Drain }

// State returns the node's state as sinfo shows it.
func (n *Node) State() NodeState {
	switch {
	case n.Down:
		return NodeDown
	case n.Drain && n.Jobs > 0:
		return NodeDraining
	case n.Drain:
		return NodeDrained
	case n.Jobs == 0:
		return NodeIdle
	case n.Allocated.CPUs >= n.Capacity.CPUs:
		return NodeAllocated
	}
	return NodeMixed
}
