package state

import (
	"maps"
	"slices"

	"github.com/rowelhq/rowel/core"
)

// Bounds on what one node may say of itself.
const (
	maxLabels         = 128
	maxNodeFactsBytes = 16 << 10
	maxNodeCPUs       = core.MaxTasksPerJob
	maxNodeMemoryMiB  = core.MaxMemoryMiB
)

// registerNode makes a node known, or replaces the facts of one that is. A node that
// registers answers, so it is not down; what an operator drained stays drained.
func (e *entry) registerNode(c core.RegisterNode) error {
	if err := validateRegistration(c); err != nil {
		return err
	}
	if before := e.node(c.Name); before != nil && before.BootID != "" && c.BootID != "" && before.BootID != c.BootID {
		e.failJobsOn(c.Name, "was started anew while the job ran")
	}
	node := e.editNode(c.Name)
	node.Address = c.Address
	node.Labels = c.Labels
	node.Capacity = c.Capacity
	node.Agent = c.Agent
	node.BootID = c.BootID
	node.Version = c.Version
	node.OS = c.OS
	node.RegisteredAt = e.at
	if node.Down {
		e.setDown(node, false, "")
	}
	return nil
}

func validateRegistration(c core.RegisterNode) error {
	if err := core.ValidateNodeName(c.Name); err != nil {
		return err
	}
	if c.Capacity.CPUs < 1 || c.Capacity.CPUs > maxNodeCPUs || c.Capacity.MemoryMiB > maxNodeMemoryMiB {
		return core.Errorf(core.Invalid, "node %s has %v; a node has 1 to %d CPUs and at most %d MiB",
			c.Name, c.Capacity, maxNodeCPUs, uint64(maxNodeMemoryMiB))
	}
	if len(c.Labels) > maxLabels {
		return core.Errorf(core.Invalid, "node %s has %d labels, the limit is %d", c.Name, len(c.Labels), maxLabels)
	}
	size := len(c.Address) + len(c.Agent) + len(c.BootID) + len(c.Version) + len(c.OS)
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		size += len(key) + len(c.Labels[key])
	}
	if size > maxNodeFactsBytes {
		return core.Errorf(core.Invalid, "node %s says %d bytes about itself, the limit is %d", c.Name, size, maxNodeFactsBytes)
	}
	return nil
}

// drainNode takes a node out of service or back. It says nothing about whether the node
// answers: to resume one that is down leaves it down.
func (e *entry) drainNode(c core.DrainNode) error {
	if e.node(c.Name) == nil {
		return core.Errorf(core.NotFound, "node %.80q does not exist", c.Name)
	}
	node := e.editNode(c.Name)
	if node.Drain != c.Drain {
		node.ChangedAt = e.at
	}
	node.Drain, node.DrainReason, node.DrainedBy = c.Drain, "", ""
	if c.Drain {
		node.DrainReason = shorten(c.Reason, maxMessageBytes)
		node.DrainedBy = shorten(c.By, core.MaxNameBytes)
	}
	return nil
}

// markNodes applies all marks, or none if one names no node.
func (e *entry) markNodes(c core.MarkNodes) error {
	for _, mark := range c.Marks {
		if e.node(mark.Name) == nil {
			return core.Errorf(core.NotFound, "node %.80q does not exist", mark.Name)
		}
	}
	for _, mark := range c.Marks {
		reason := shorten(mark.Reason, maxMessageBytes)
		if !mark.Down {
			reason = ""
		}
		if node := e.node(mark.Name); node.Down == mark.Down && node.DownReason == reason {
			continue
		}
		e.setDown(e.editNode(mark.Name), mark.Down, reason)
		if mark.Down {
			e.failJobsOn(mark.Name, "is down: "+reason)
		}
	}
	return nil
}

func (e *entry) setDown(node *core.Node, down bool, reason string) {
	if node.Down != down {
		node.ChangedAt = e.at
	}
	node.Down, node.DownReason = down, reason
}

// failJobsOn ends what held resources on a node that is gone, also on its other nodes.
func (e *entry) failJobsOn(node, fate string) {
	e.flush()
	for _, job := range collect[core.Job](e.txn, tableJobs, indexNode, nodeKey(node)) {
		job = e.editJob(job.ID)
		e.end(job, core.JobNodeFail)
		job.Reason = core.ReasonNodeDown
		job.Message = shorten("node "+node+" "+fate, maxMessageBytes)
	}
}

// announceMember notes where a controller serves the API, in place of what was known.
func (e *entry) announceMember(member core.Member) error {
	size := len(member.ServerID) + len(member.Name) + len(member.APIAddress) + len(member.Version)
	if member.ServerID == "" || size > maxNodeFactsBytes {
		return core.Errorf(core.Invalid, "a member has a server ID and says at most %d bytes about itself", maxNodeFactsBytes)
	}
	must(e.txn.Insert(tableMembers, &member))
	return nil
}
