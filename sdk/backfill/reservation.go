package backfill

import "github.com/rowelhq/rowel/sdk/abi"

// reservation is the place kept for the first job that has to wait: the nodes it will
// get at the shadow time, and what each of them has over then.
type reservation struct {
	made   bool
	shadow int64 // Unix milliseconds, or abi.Never
	nodes  []uint32

	// By node: what a job that is still running at the shadow time may use. Not bounded
	// on nodes that are not reserved.
	spareCPUs, spareMemory []uint32
	reserved               []bool
}

// release is something that becomes free when a job ends.
type release struct {
	end          int64
	node         uint32
	cpus, memory uint32
}

const unbounded = ^uint32(0)

// forecast finds when and where the request can be met if every job runs to its limit.
// freeCPUs and freeMemory are what is free now. made is false if it never can be.
func forecast(r request, set []uint64, freeCPUs, freeMemory, weights []uint32, releases []release) reservation {
	cpus, memory := append([]uint32(nil), freeCPUs...), append([]uint32(nil), freeMemory...)
	fitting := uint32(0)
	fits := func(n uint32) bool { return cpus[n] >= r.cpus && memory[n] >= r.memory }
	for n := range cpus {
		if has(set, uint32(n)) && fits(uint32(n)) {
			fitting++
		}
	}
	order := byEnd(releases, set)
	for i := 0; i < len(order) && fitting < r.nodes; {
		end := releases[order[i]].end
		for ; i < len(order) && releases[order[i]].end == end; i++ {
			at := &releases[order[i]]
			fitted := fits(at.node)
			cpus[at.node] += at.cpus
			memory[at.node] += at.memory
			if !fitted && fits(at.node) {
				fitting++
			}
		}
		if fitting >= r.nodes {
			return reserve(r, end, set, cpus, memory, weights)
		}
	}
	return reservation{}
}

// byEnd returns the releases on nodes of the set, earliest first.
func byEnd(releases []release, set []uint64) []uint32 {
	pairs := make([]pair, 0, len(releases))
	for i := range releases {
		if has(set, releases[i].node) {
			pairs = append(pairs, pair{uint64(releases[i].end) ^ 1<<63, uint64(i)})
		}
	}
	order := make([]uint32, len(pairs))
	pairs, _ = sortPairs(pairs, make([]pair, len(pairs)))
	for i, p := range pairs {
		order[i] = uint32(p.second)
	}
	return order
}

// reserve chooses the best-fitting nodes of those that are free at the shadow time.
func reserve(r request, shadow int64, set []uint64, cpus, memory, weights []uint32) reservation {
	var candidates []pair
	for n := range cpus {
		if has(set, uint32(n)) && cpus[n] >= r.cpus && memory[n] >= r.memory {
			candidates = append(candidates, nodePair(cpus[n], memory[n], weights[n], uint32(n)))
		}
	}
	v := reservation{
		made: true, shadow: shadow,
		spareCPUs: make([]uint32, len(cpus)), spareMemory: make([]uint32, len(cpus)), reserved: make([]bool, len(cpus)),
	}
	for n := range cpus {
		v.spareCPUs[n], v.spareMemory[n] = unbounded, unbounded
	}
	candidates, _ = sortPairs(candidates, make([]pair, len(candidates)))
	for _, at := range candidates[:r.nodes] {
		n := uint32(at.second)
		v.nodes = append(v.nodes, n)
		v.spareCPUs[n], v.spareMemory[n], v.reserved[n] = cpus[n]-r.cpus, memory[n]-r.memory, true
	}
	return v
}

// outlasts reports whether a job of that limit, in seconds, started now, may still run
// at the shadow time.
func (v *reservation) outlasts(now int64, limit uint32) bool {
	return v.made && (limit == abi.NoLimit || endOf(now, limit) > v.shadow)
}

// take uses up what a job that outlasts the shadow time needs of a node.
func (v *reservation) take(n, cpus, memory uint32) {
	if v.reserved[n] {
		v.spareCPUs[n] -= cpus
		v.spareMemory[n] -= memory
	}
}

func endOf(now int64, limit uint32) int64 {
	if limit == abi.NoLimit {
		return abi.Never
	}
	return now + int64(limit)*1000
}

func has(set []uint64, n uint32) bool { return set[n/64]>>(n%64)&1 != 0 }
