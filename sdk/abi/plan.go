package abi

import "encoding/binary"

// PlanMagic opens a plan: "RWLR".
const PlanMagic = 0x524c5752

// Plan layout, in bytes.
const (
	PlanHeaderSize = 32
	RecordSize     = 32
)

// ProposalKind says what a record of a plan proposes.
type ProposalKind uint8

// The kinds of proposal.
const (
	Start   ProposalKind = 1 // run the job on these nodes now
	Reserve ProposalKind = 2 // expected to start on these nodes at that time; nothing is held
	Skip    ProposalKind = 4 // not now, for this reason
)

// SkipReason says why a job was passed over.
type SkipReason uint8

// The reasons that a policy can give.
const (
	BecauseResources SkipReason = 1 // it is its turn, but it does not fit now
	BecausePriority  SkipReason = 2 // jobs ahead of it need what it could use
)

// Proposal is one record of a plan, of 32 bytes: {kind u8, reason u8, reserved u16,
// job row u32, first u32 and count u32 in the plan's node list, at i64, reserved u64}.
type Proposal struct {
	Kind      ProposalKind
	Reason    SkipReason // of a Skip or Reserve
	Job       uint32     // row
	FirstNode uint32     // in Plan.Nodes
	NodeCount uint32
	At        int64 // of a Reserve, Unix milliseconds
}

// Plan is a policy's answer to one picture: proposals in the order in which they are
// to be admitted. The layout: a header of 32 bytes {magic u32, major u16, minor u16,
// size u32, proposals u32, nodes u32, reserved u32, cycle u64}, the proposals, then the
// node list as u32 rows.
type Plan struct {
	Cycle     uint64
	Proposals []Proposal
	Nodes     []uint32 // rows, shared by the proposals
}

// NodesOf returns the node rows of a proposal.
func (p *Plan) NodesOf(proposal Proposal) []uint32 {
	return p.Nodes[proposal.FirstNode : proposal.FirstNode+proposal.NodeCount]
}

// Add appends a proposal with its nodes.
func (p *Plan) Add(proposal Proposal, nodes ...uint32) {
	proposal.FirstNode, proposal.NodeCount = uint32(len(p.Nodes)), uint32(len(nodes))
	p.Nodes = append(p.Nodes, nodes...)
	p.Proposals = append(p.Proposals, proposal)
}

// Size returns the bytes that Encode writes.
func (p *Plan) Size() int {
	return PlanHeaderSize + RecordSize*len(p.Proposals) + 4*len(p.Nodes)
}

// Encode writes the plan into dst, which must have exactly Size bytes.
func (p *Plan) Encode(dst []byte) {
	le := binary.LittleEndian
	le.PutUint32(dst[0:], PlanMagic)
	le.PutUint16(dst[4:], Major)
	le.PutUint16(dst[6:], Minor)
	le.PutUint32(dst[8:], uint32(len(dst)))
	le.PutUint32(dst[12:], uint32(len(p.Proposals)))
	le.PutUint32(dst[16:], uint32(len(p.Nodes)))
	le.PutUint32(dst[20:], 0)
	le.PutUint64(dst[24:], p.Cycle)
	at := PlanHeaderSize
	for _, r := range p.Proposals {
		dst[at], dst[at+1], dst[at+2], dst[at+3] = byte(r.Kind), byte(r.Reason), 0, 0
		le.PutUint32(dst[at+4:], r.Job)
		le.PutUint32(dst[at+8:], r.FirstNode)
		le.PutUint32(dst[at+12:], r.NodeCount)
		le.PutUint64(dst[at+16:], uint64(r.At))
		le.PutUint64(dst[at+24:], 0)
		at += RecordSize
	}
	for _, n := range p.Nodes {
		le.PutUint32(dst[at:], n)
		at += 4
	}
}

// DecodePlan reads a plan that answers a picture of so many nodes and jobs. It copies
// what it keeps. It checks everything that can be checked without the state: a plan
// that names a row that does not exist, or an unknown kind, is an error.
func DecodePlan(src []byte, cycle uint64, nodes, jobs int) (*Plan, error) {
	le := binary.LittleEndian
	if len(src) < PlanHeaderSize || le.Uint32(src) != PlanMagic {
		return nil, malformed("not a plan: # bytes without its magic number", len(src))
	}
	if major := le.Uint16(src[4:]); major != Major {
		return nil, malformed("plan of ABI version #, this is version #", int(major), Major)
	}
	proposals, listed := uint64(le.Uint32(src[12:])), uint64(le.Uint32(src[16:]))
	if want := PlanHeaderSize + RecordSize*proposals + 4*listed; want != uint64(len(src)) || uint64(le.Uint32(src[8:])) != want {
		return nil, malformed("plan of # bytes cannot hold # proposals and # nodes", len(src), int(proposals), int(listed))
	}
	if got := le.Uint64(src[24:]); got != cycle {
		return nil, malformed("plan answers cycle #, this is cycle #", int(got), int(cycle))
	}
	p := &Plan{Cycle: cycle, Proposals: make([]Proposal, proposals), Nodes: make([]uint32, listed)}
	list := src[PlanHeaderSize+RecordSize*proposals:]
	for i := range p.Nodes {
		p.Nodes[i] = le.Uint32(list[4*i:])
		if uint64(p.Nodes[i]) >= uint64(nodes) {
			return nil, malformed("plan names node # of #", int(p.Nodes[i]), nodes)
		}
	}
	for i := range p.Proposals {
		r := src[PlanHeaderSize+RecordSize*i:]
		p.Proposals[i] = Proposal{
			Kind: ProposalKind(r[0]), Reason: SkipReason(r[1]), Job: le.Uint32(r[4:]),
			FirstNode: le.Uint32(r[8:]), NodeCount: le.Uint32(r[12:]), At: int64(le.Uint64(r[16:])),
		}
		if err := p.Proposals[i].check(i, jobs, listed); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (r Proposal) check(i, jobs int, listed uint64) error {
	switch {
	case r.Kind != Start && r.Kind != Reserve && r.Kind != Skip:
		return malformed("proposal # has the unknown kind #", i, int(r.Kind))
	case uint64(r.Job) >= uint64(jobs):
		return malformed("proposal # names job # of #", i, int(r.Job), jobs)
	case uint64(r.FirstNode)+uint64(r.NodeCount) > listed:
		return malformed("proposal # names nodes outside its plan", i)
	case r.Kind == Start && r.NodeCount == 0:
		return malformed("proposal # starts job # on no node", i, int(r.Job))
	}
	return nil
}
