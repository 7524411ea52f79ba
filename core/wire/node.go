package wire

import "github.com/rowelhq/rowel/core"

// FromResources returns the message of r, never nil.
func FromResources(r core.Resources) *Resources {
	return &Resources{Cpus: r.CPUs, MemoryMib: r.MemoryMiB}
}

// ToResources returns the resources in m, none if it is nil.
func ToResources(m *Resources) core.Resources {
	return core.Resources{CPUs: m.GetCpus(), MemoryMiB: m.GetMemoryMib()}
}

// FromNode returns the node's message.
func FromNode(n *core.Node) *Node {
	return &Node{
		Name:         n.Name,
		Address:      n.Address,
		Labels:       n.Labels,
		Capacity:     FromResources(n.Capacity),
		Allocated:    FromResources(n.Allocated),
		Jobs:         n.Jobs,
		Agent:        n.Agent,
		BootId:       n.BootID,
		Version:      n.Version,
		Os:           n.OS,
		Down:         n.Down,
		DownReason:   n.DownReason,
		Drain:        n.Drain,
		DrainReason:  n.DrainReason,
		DrainedBy:    n.DrainedBy,
		RegisteredAt: FromTime(n.RegisteredAt),
		ChangedAt:    FromTime(n.ChangedAt),
		ModifyIndex:  n.ModifyIndex,
	}
}

// ToNode returns the node in m.
func ToNode(m *Node) (*core.Node, error) {
	registeredAt, err := ToTime(m.GetRegisteredAt())
	if err != nil {
		return nil, err
	}
	changedAt, err := ToTime(m.GetChangedAt())
	if err != nil {
		return nil, err
	}
	return &core.Node{
		Name:         m.GetName(),
		Address:      m.GetAddress(),
		Labels:       m.GetLabels(),
		Capacity:     ToResources(m.GetCapacity()),
		Allocated:    ToResources(m.GetAllocated()),
		Jobs:         m.GetJobs(),
		Agent:        m.GetAgent(),
		BootID:       m.GetBootId(),
		Version:      m.GetVersion(),
		OS:           m.GetOs(),
		Down:         m.GetDown(),
		DownReason:   m.GetDownReason(),
		Drain:        m.GetDrain(),
		DrainReason:  m.GetDrainReason(),
		DrainedBy:    m.GetDrainedBy(),
		RegisteredAt: registeredAt,
		ChangedAt:    changedAt,
		ModifyIndex:  m.GetModifyIndex(),
	}, nil
}

// FromMember returns the member's message.
func FromMember(m core.Member) *Member {
	return &Member{ServerId: m.ServerID, Name: m.Name, ApiAddress: m.APIAddress, Version: m.Version}
}

// ToMember returns the member in m, a zero one if it is nil.
func ToMember(m *Member) core.Member {
	return core.Member{
		ServerID:   m.GetServerId(),
		Name:       m.GetName(),
		APIAddress: m.GetApiAddress(),
		Version:    m.GetVersion(),
	}
}
