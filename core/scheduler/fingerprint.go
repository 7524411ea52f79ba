package scheduler

// fingerprint is a number that differs, in all likelihood, when anything differs that a
// policy could act on: what waits, what runs and what the nodes have. It leaves out the
// time, and everything that only records what was decided. A collision costs a wait
// until the next safety cycle.
func (p *picture) fingerprint() uint64 {
	h := mix(mix(uint64(len(p.nodes)), uint64(len(p.jobs))), uint64(p.Running.Len()))
	for i, node := range p.nodes {
		in := uint64(0)
		if node.Schedulable() {
			in = 1
		}
		h = mix(h, in)
		h = mix(h, uint64(node.Capacity.CPUs)<<32|uint64(node.Allocated.CPUs))
		h = mix(mix(h, node.Capacity.MemoryMiB), p.free[i].MemoryMiB)
	}
	for i := range p.jobs {
		c := &p.jobs[i]
		h = mix(h, uint64(c.job.ID))
		h = mix(h, uint64(c.job.Priority)<<32|uint64(c.count))
	}
	for i, job := range p.Running.Job {
		h = mix(mix(h, job), uint64(p.Running.Node[i])<<32|uint64(p.Running.CPUs[i]))
	}
	return h
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}
