package backfill

// request is what a job asks for, without who asks.
type request struct {
	set    uint32
	nodes  uint32
	cpus   uint32 // on each node
	memory uint32 // MiB, on each node
}

// failures remembers, for each node set, requests that could not be met. What is free
// only shrinks within a cycle, so they and all that ask for as much stay unmet.
type failures struct {
	bySet [][]request
}

// mostFailures bounds what is remembered for a set: the memory is a shortcut, and a long
// one is none.
const mostFailures = 64

func newFailures(sets int) failures { return failures{bySet: make([][]request, sets)} }

// cover reports whether the request is known to fail.
func (f *failures) cover(r request) bool {
	for _, known := range f.bySet[r.set] {
		if known.nodes <= r.nodes && known.cpus <= r.cpus && known.memory <= r.memory {
			return true
		}
	}
	return false
}

// add remembers a request and forgets those that it covers.
func (f *failures) add(r request) {
	kept := f.bySet[r.set][:0]
	for _, known := range f.bySet[r.set] {
		if known.nodes < r.nodes || known.cpus < r.cpus || known.memory < r.memory {
			kept = append(kept, known)
		}
	}
	if len(kept) < mostFailures {
		kept = append(kept, r)
	}
	f.bySet[r.set] = kept
}
