package backfill

import "github.com/rowelhq/rowel/sdk"

// index keeps the nodes sorted by what they have free, so that the first one that fits
// is the best fit: least CPUs, then least memory, then lowest weight, then lowest row.
type index struct {
	entries []pair // {free CPUs, free memory}, {weight, row}
	weights []uint32
}

func newIndex(c *sdk.Cycle) index {
	cpus, memory, weights := c.Free.CPUs, c.Free.Memory, c.Nodes.Weight
	entries := make([]pair, len(cpus))
	for n := range entries {
		entries[n] = nodePair(cpus[n], memory[n], weights[n], uint32(n))
	}
	entries, _ = sortPairs(entries, make([]pair, len(entries)))
	return index{entries: entries, weights: weights}
}

func nodePair(cpus, memory, weight, row uint32) pair {
	return pair{uint64(cpus)<<32 | uint64(memory), uint64(weight)<<32 | uint64(row)}
}

// from returns the position of the first entry that is not less than p.
func (x *index) from(p pair) int {
	low, high := 0, len(x.entries)
	for low < high {
		middle := int(uint(low+high) / 2)
		if x.entries[middle].less(p) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// shrink moves a node to where it belongs after something was taken from it, and
// returns its new entry.
func (x *index) shrink(row, oldCPUs, oldMemory, cpus, memory uint32) pair {
	weight := x.weights[row]
	moved := nodePair(cpus, memory, weight, row)
	was, now := x.from(nodePair(oldCPUs, oldMemory, weight, row)), x.from(moved)
	copy(x.entries[now+1:was+1], x.entries[now:was])
	x.entries[now] = moved
	return moved
}
