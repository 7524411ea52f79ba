package abi

import "encoding/binary"

// PictureMagic opens a picture: "RWLP".
const PictureMagic = 0x504c5752

// Picture layout, in bytes.
const (
	PictureHeaderSize = 64
	ColumnEntrySize   = 16
)

// Picture is everything that a policy may know in one cycle, as parallel columns. It is
// complete: a guest needs nothing from earlier cycles. Times are Unix milliseconds,
// memory is MiB, CPUs are whole. Row numbers stand for nodes and jobs within one
// picture only.
//
// The layout: a header of 64 bytes {magic u32, major u16, minor u16, size u32,
// columns u32, cycle u64, now i64, seed u64, nodes u32, jobs u32, running u32, sets u32,
// strings u32, reserved u32}, a directory of 16 bytes a column {id u16, type u8,
// reserved u8, offset u32 from the picture's start, count u32 of elements,
// reserved u32}, then the columns, each 8-aligned.
type Picture struct {
	Cycle uint64
	Now   int64
	Seed  uint64

	Nodes   NodeColumns
	Jobs    JobColumns
	Running RunningColumns

	// Sets holds the node sets one after another, each of SetWords words: bit n of a
	// set is word n/64, bit n%64. A job may run on the nodes of its set.
	Sets []uint64

	// Strings is the dictionary: string i is StringBytes[StringEnds[i-1]:StringEnds[i]].
	StringEnds  []uint32
	StringBytes []byte
}

// NodeColumns has a row for each node, schedulable or not: the sets leave out those
// that take no jobs.
type NodeColumns struct {
	CPUs       []uint32
	Memory     []uint32
	CPUsFree   []uint32
	MemoryFree []uint32
	Weight     []uint32 // lower is used first
	Name       []uint32 // string
}

// Len returns the number of nodes.
func (c *NodeColumns) Len() int { return len(c.CPUs) }

// JobColumns has a row for each pending record. An array's row may be started up to
// Count times in one plan.
type JobColumns struct {
	ID        []uint64
	Priority  []uint32 // higher goes first; equal: lower ID first
	Submitted []int64
	Nodes     []uint32 // how many it needs at once
	CPUs      []uint32 // on each node
	Memory    []uint32 // on each node
	Limit     []uint32 // seconds; NoLimit
	Set       []uint32 // its node set
	Count     []uint32 // 1, or what of an array may start now
	User      []uint32 // string
}

// Len returns the number of jobs.
func (c *JobColumns) Len() int { return len(c.ID) }

// RunningColumns has a row for each placement that holds resources on a node.
type RunningColumns struct {
	Job      []uint64 // ID
	Node     []uint32 // row
	CPUs     []uint32
	Memory   []uint32
	End      []int64 // when its time limit is reached; Never
	Priority []uint32
}

// Len returns the number of placements.
func (c *RunningColumns) Len() int { return len(c.Node) }

// SetWords returns the words of one node set.
func (p *Picture) SetWords() int { return (p.Nodes.Len() + 63) / 64 }

// Set returns node set i.
func (p *Picture) Set(i uint32) []uint64 {
	words := p.SetWords()
	return p.Sets[int(i)*words : (int(i)+1)*words]
}

// String returns string i of the dictionary.
func (p *Picture) String(i uint32) string {
	start := uint32(0)
	if i > 0 {
		start = p.StringEnds[i-1]
	}
	return string(p.StringBytes[start:p.StringEnds[i]])
}

// The columns of a picture. Numbers are never reused.
const (
	columnNodeCPUs        = 1
	columnNodeMemory      = 2
	columnNodeCPUsFree    = 3
	columnNodeMemoryFree  = 4
	columnNodeWeight      = 5
	columnNodeName        = 6
	columnJobID           = 20
	columnJobPriority     = 21
	columnJobSubmitted    = 22
	columnJobNodes        = 23
	columnJobCPUs         = 24
	columnJobMemory       = 25
	columnJobLimit        = 26
	columnJobSet          = 27
	columnJobCount        = 28
	columnJobUser         = 29
	columnRunningJob      = 40
	columnRunningNode     = 41
	columnRunningCPUs     = 42
	columnRunningMemory   = 43
	columnRunningEnd      = 44
	columnRunningPriority = 45
	columnSets            = 60
	columnStringEnds      = 61
	columnStringBytes     = 62
)

// columns lists every column in file order with where it lives in p. rows is the
// length that the header demands of it, or -1 where the column sets its own.
func (p *Picture) columns(nodes, jobs, running, sets, strings int) []column {
	return []column{
		u32Column(columnNodeCPUs, nodes, &p.Nodes.CPUs),
		u32Column(columnNodeMemory, nodes, &p.Nodes.Memory),
		u32Column(columnNodeCPUsFree, nodes, &p.Nodes.CPUsFree),
		u32Column(columnNodeMemoryFree, nodes, &p.Nodes.MemoryFree),
		u32Column(columnNodeWeight, nodes, &p.Nodes.Weight),
		u32Column(columnNodeName, nodes, &p.Nodes.Name),
		u64Column(columnJobID, jobs, &p.Jobs.ID),
		u32Column(columnJobPriority, jobs, &p.Jobs.Priority),
		i64Column(columnJobSubmitted, jobs, &p.Jobs.Submitted),
		u32Column(columnJobNodes, jobs, &p.Jobs.Nodes),
		u32Column(columnJobCPUs, jobs, &p.Jobs.CPUs),
		u32Column(columnJobMemory, jobs, &p.Jobs.Memory),
		u32Column(columnJobLimit, jobs, &p.Jobs.Limit),
		u32Column(columnJobSet, jobs, &p.Jobs.Set),
		u32Column(columnJobCount, jobs, &p.Jobs.Count),
		u32Column(columnJobUser, jobs, &p.Jobs.User),
		u64Column(columnRunningJob, running, &p.Running.Job),
		u32Column(columnRunningNode, running, &p.Running.Node),
		u32Column(columnRunningCPUs, running, &p.Running.CPUs),
		u32Column(columnRunningMemory, running, &p.Running.Memory),
		i64Column(columnRunningEnd, running, &p.Running.End),
		u32Column(columnRunningPriority, running, &p.Running.Priority),
		u64Column(columnSets, sets*((nodes+63)/64), &p.Sets),
		u32Column(columnStringEnds, strings, &p.StringEnds),
		u8Column(columnStringBytes, -1, &p.StringBytes),
	}
}

func (p *Picture) ownColumns() []column {
	sets := 0
	if words := p.SetWords(); words > 0 {
		sets = len(p.Sets) / words
	}
	return p.columns(p.Nodes.Len(), p.Jobs.Len(), p.Running.Len(), sets, len(p.StringEnds))
}

// Size returns the bytes that Encode writes.
func (p *Picture) Size() int {
	columns := p.ownColumns()
	size := PictureHeaderSize + ColumnEntrySize*len(columns)
	for _, c := range columns {
		size = align8(size) + c.bytes()
	}
	return align8(size)
}

// Encode writes the picture into dst, which must have exactly Size bytes. It panics if
// the columns of one table differ in length: that is a defect of the host.
func (p *Picture) Encode(dst []byte) {
	columns := p.ownColumns()
	le := binary.LittleEndian
	le.PutUint32(dst[0:], PictureMagic)
	le.PutUint16(dst[4:], Major)
	le.PutUint16(dst[6:], Minor)
	le.PutUint32(dst[8:], uint32(len(dst)))
	le.PutUint32(dst[12:], uint32(len(columns)))
	le.PutUint64(dst[16:], p.Cycle)
	le.PutUint64(dst[24:], uint64(p.Now))
	le.PutUint64(dst[32:], p.Seed)
	le.PutUint32(dst[40:], uint32(p.Nodes.Len()))
	le.PutUint32(dst[44:], uint32(p.Jobs.Len()))
	le.PutUint32(dst[48:], uint32(p.Running.Len()))
	sets := 0
	if words := p.SetWords(); words > 0 {
		sets = len(p.Sets) / words
	}
	le.PutUint32(dst[52:], uint32(sets))
	le.PutUint32(dst[56:], uint32(len(p.StringEnds)))
	le.PutUint32(dst[60:], 0)

	offset := align8(PictureHeaderSize + ColumnEntrySize*len(columns))
	for i, c := range columns {
		if c.rows >= 0 && c.len() != c.rows {
			panic(malformed("picture column # has # rows, its table has #", int(c.id), c.len(), c.rows))
		}
		entry := dst[PictureHeaderSize+ColumnEntrySize*i:]
		le.PutUint16(entry[0:], c.id)
		entry[2], entry[3] = c.kind, 0
		le.PutUint32(entry[4:], uint32(offset))
		le.PutUint32(entry[8:], uint32(c.len()))
		le.PutUint32(entry[12:], 0)
		c.write(dst[offset : offset+c.bytes()])
		end := offset + c.bytes()
		offset = align8(end)
		clear(dst[end:offset]) // equal pictures are equal bytes
	}
}

// OpenPicture reads the picture in src. Where the machine is little-endian and src is
// 8-aligned, as guest memory is, the columns share src's memory. A malformed picture is
// an error; a column that this version does not know is skipped, one that is missing is
// an error.
func OpenPicture(src []byte) (*Picture, error) {
	le := binary.LittleEndian
	if len(src) < PictureHeaderSize || le.Uint32(src) != PictureMagic {
		return nil, malformed("not a picture: # bytes without its magic number", len(src))
	}
	if major := le.Uint16(src[4:]); major != Major {
		return nil, malformed("picture of ABI version #, this is version #", int(major), Major)
	}
	if size := le.Uint32(src[8:]); uint64(size) != uint64(len(src)) {
		return nil, malformed("picture says it has # bytes, it has #", int(size), len(src))
	}
	p := &Picture{Cycle: le.Uint64(src[16:]), Now: int64(le.Uint64(src[24:])), Seed: le.Uint64(src[32:])}
	count := int(le.Uint32(src[12:]))
	if count > (len(src)-PictureHeaderSize)/ColumnEntrySize {
		return nil, malformed("picture of # bytes cannot have # columns", len(src), count)
	}
	const most = 1 << 28 // rows; keeps products within int on 32 bits
	var sizes [5]int
	for i := range sizes {
		n := le.Uint32(src[40+4*i:])
		if n > most {
			return nil, malformed("picture table # has # rows", i, int(n))
		}
		sizes[i] = int(n)
	}
	known := p.columns(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4])
	for i := range count {
		entry := src[PictureHeaderSize+ColumnEntrySize*i:]
		if err := openColumn(known, src, entry); err != nil {
			return nil, err
		}
	}
	for i := range known {
		if !known[i].seen {
			return nil, malformed("picture lacks column #", int(known[i].id))
		}
	}
	return p, p.check(sizes[3])
}

func openColumn(known []column, src, entry []byte) error {
	le := binary.LittleEndian
	id, offset, count := le.Uint16(entry), le.Uint32(entry[4:]), le.Uint32(entry[8:])
	for i := range known {
		c := &known[i]
		if c.id != id {
			continue
		}
		end := uint64(offset) + uint64(count)*uint64(c.width)
		switch {
		case entry[2] != c.kind:
			return malformed("picture column # has type #, not #", int(id), int(entry[2]), int(c.kind))
		case offset%8 != 0 || end > uint64(len(src)):
			return malformed("picture column # lies outside the picture", int(id))
		case c.rows >= 0 && uint64(count) != uint64(c.rows):
			return malformed("picture column # has # rows, its table has #", int(id), int(count), c.rows)
		case c.seen:
			return malformed("picture column # stands twice", int(id))
		}
		c.seen = true
		c.read(src[offset:end], int(count))
		return nil
	}
	return nil
}

// check makes sure that every row number and string stands for something.
func (p *Picture) check(sets int) error {
	for i, set := range p.Jobs.Set {
		if int(set) >= sets && p.Nodes.Len() > 0 { // without nodes every set is empty
			return malformed("picture job # has node set # of #", i, int(set), sets)
		}
	}
	for i, node := range p.Running.Node {
		if int(node) >= p.Nodes.Len() {
			return malformed("picture placement # is on node # of #", i, int(node), p.Nodes.Len())
		}
	}
	last := uint32(0)
	for i, end := range p.StringEnds {
		if end < last || int(end) > len(p.StringBytes) {
			return malformed("picture string # is out of bounds", i)
		}
		last = end
	}
	for _, column := range [][]uint32{p.Nodes.Name, p.Jobs.User} {
		for i, s := range column {
			if int(s) >= len(p.StringEnds) {
				return malformed("picture row # names string # of #", i, int(s), len(p.StringEnds))
			}
		}
	}
	return nil
}

func align8(n int) int { return (n + 7) &^ 7 }
