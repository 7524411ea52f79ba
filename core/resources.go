package core

import "fmt"

// Resources is what a node has or a placement takes on one node.
type Resources struct {
	CPUs      uint32 `json:"cpus"`
	MemoryMiB uint64 `json:"memory_mib"`
}

// FitsIn reports whether r can be taken out of free.
func (r Resources) FitsIn(free Resources) bool {
	return r.CPUs <= free.CPUs && r.MemoryMiB <= free.MemoryMiB
}

// Plus returns r and other together.
func (r Resources) Plus(other Resources) Resources {
	return Resources{CPUs: r.CPUs + other.CPUs, MemoryMiB: r.MemoryMiB + other.MemoryMiB}
}

// Minus returns what is left of r once other is taken away, never less than zero: a
// node may shrink while jobs still hold what it had.
func (r Resources) Minus(other Resources) Resources {
	return Resources{
		CPUs:      r.CPUs - min(r.CPUs, other.CPUs),
		MemoryMiB: r.MemoryMiB - min(r.MemoryMiB, other.MemoryMiB),
	}
}

// String returns r as people write it, such as "4 CPUs, 2048 MiB".
func (r Resources) String() string {
	if r.CPUs == 1 {
		return fmt.Sprintf("1 CPU, %d MiB", r.MemoryMiB)
	}
	return fmt.Sprintf("%d CPUs, %d MiB", r.CPUs, r.MemoryMiB)
}
