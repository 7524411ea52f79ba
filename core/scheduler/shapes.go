package scheduler

import (
	"slices"

	"github.com/rowelhq/rowel/core"
)

// shapes finds the set of nodes that a job may run on: those that take jobs and whose
// capacity holds the job's share. Jobs that ask for different amounts share a set when
// the same sizes of node are enough for them, so that a cluster of a few kinds of
// machine has a few sets, however many jobs there are.
type shapes struct {
	nodes  []*core.Node
	words  int
	cpus   []uint32 // the distinct capacities of nodes that take jobs, ascending
	memory []uint64
	known  map[step]uint32 // -> set
	sets   []uint64        // one after another, as abi.Picture has them
	sizes  []uint32        // nodes in each set

	lastNeed core.Resources // the last answer: neighbours in the queue are often alike
	lastSet  uint32
	cached   bool
}

// step is where a need stands among the capacities: how many distinct ones are too
// small for it.
type step struct{ cpus, memory int }

// reset forgets all sets and learns the capacities of the nodes.
func (s *shapes) reset(nodes []*core.Node) {
	s.nodes, s.words = nodes, (len(nodes)+63)/64
	s.cpus, s.memory = s.cpus[:0], s.memory[:0]
	s.sets, s.sizes, s.cached = s.sets[:0], s.sizes[:0], false
	if s.known == nil {
		s.known = map[step]uint32{}
	}
	clear(s.known)
	for _, node := range nodes {
		if node.Schedulable() {
			s.cpus = append(s.cpus, node.Capacity.CPUs)
			s.memory = append(s.memory, node.Capacity.MemoryMiB)
		}
	}
	slices.Sort(s.cpus)
	slices.Sort(s.memory)
	s.cpus, s.memory = slices.Compact(s.cpus), slices.Compact(s.memory)
}

// setOf returns the set for a need and how many nodes it has.
func (s *shapes) setOf(need core.Resources) (set, size uint32) {
	if !s.cached || need != s.lastNeed {
		s.lastNeed, s.lastSet, s.cached = need, s.find(need), true
	}
	return s.lastSet, s.sizes[s.lastSet]
}

func (s *shapes) find(need core.Resources) uint32 {
	var at step
	at.cpus, _ = slices.BinarySearch(s.cpus, need.CPUs)
	at.memory, _ = slices.BinarySearch(s.memory, need.MemoryMiB)
	set, known := s.known[at]
	if !known {
		set = s.add(need)
		s.known[at] = set
	}
	return set
}

func (s *shapes) add(need core.Resources) uint32 {
	start := len(s.sets)
	s.sets = slices.Grow(s.sets, s.words)[:start+s.words]
	bits := s.sets[start:]
	clear(bits)
	size := uint32(0)
	for row, node := range s.nodes {
		if node.Schedulable() && need.FitsIn(node.Capacity) {
			bits[row/64] |= 1 << (row % 64)
			size++
		}
	}
	s.sizes = append(s.sizes, size)
	return uint32(len(s.sizes) - 1)
}

// has reports whether the node of a row is in a set.
func (s *shapes) has(set, row uint32) bool {
	return s.sets[int(set)*s.words+int(row/64)]&(1<<(row%64)) != 0
}
