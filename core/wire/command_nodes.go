package wire

import "github.com/rowelhq/rowel/core"

// FromRegisterNode returns the message of a registration; an agent sends it first.
func FromRegisterNode(c core.RegisterNode) *RegisterNode {
	return &RegisterNode{
		Name:     c.Name,
		Address:  c.Address,
		Labels:   c.Labels,
		Capacity: FromResources(c.Capacity),
		Agent:    c.Agent,
		Version:  c.Version,
		Os:       c.OS,
		BootId:   c.BootID,
	}
}

// ToRegisterNode returns the registration in m.
func ToRegisterNode(m *RegisterNode) core.RegisterNode {
	return core.RegisterNode{
		Name:     m.GetName(),
		Address:  m.GetAddress(),
		Labels:   m.GetLabels(),
		Capacity: ToResources(m.GetCapacity()),
		Agent:    m.GetAgent(),
		Version:  m.GetVersion(),
		OS:       m.GetOs(),
		BootID:   m.GetBootId(),
	}
}

func fromDrainNode(c core.DrainNode) *DrainNode {
	return &DrainNode{Name: c.Name, Drain: c.Drain, Reason: c.Reason, By: c.By}
}

func toDrainNode(m *DrainNode) core.DrainNode {
	return core.DrainNode{Name: m.GetName(), Drain: m.GetDrain(), Reason: m.GetReason(), By: m.GetBy()}
}

func fromMarkNodes(c core.MarkNodes) *MarkNodes {
	m := &MarkNodes{}
	for _, mark := range c.Marks {
		m.Marks = append(m.Marks, &NodeMark{Name: mark.Name, Down: mark.Down, Reason: mark.Reason})
	}
	return m
}

func toMarkNodes(m *MarkNodes) core.MarkNodes {
	c := core.MarkNodes{}
	for _, mark := range m.GetMarks() {
		c.Marks = append(c.Marks, core.NodeMark{Name: mark.GetName(), Down: mark.GetDown(), Reason: mark.GetReason()})
	}
	return c
}

func fromForget(c core.Forget) (*Forget, error) {
	m := &Forget{EndedBefore: FromTime(c.EndedBefore), HistoryIndex: c.HistoryIndex}
	if _, err := ToTime(m.EndedBefore); err != nil {
		return nil, err
	}
	return m, nil
}

func toForget(m *Forget) (core.Command, error) {
	endedBefore, err := ToTime(m.GetEndedBefore())
	if err != nil {
		return nil, err
	}
	return core.Forget{EndedBefore: endedBefore, HistoryIndex: m.GetHistoryIndex()}, nil
}
