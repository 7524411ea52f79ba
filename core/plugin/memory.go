package plugin

import (
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

const pageSize = 64 << 10

// memory is one instance's linear memory. It reserves addresses for the whole limit at
// once and makes them usable as the guest grows: growing by copying takes seconds. It
// implements wazero's MemoryAllocator and LinearMemory for one instance.
type memory struct {
	limit uint64

	mapped []byte // all that is reserved
	usable uint64 // from its start
	denied bool   // the guest asked for more than the limit
	once   sync.Once
}

func newMemory(limit int64) *memory { return &memory{limit: uint64(limit)} }

// Allocate implements experimental.MemoryAllocator. wazero takes no error here: an
// instance without memory fails at its first Reallocate.
func (m *memory) Allocate(_, most uint64) experimental.LinearMemory {
	size := min(most, m.limit) / pageSize * pageSize
	if size == 0 {
		return m
	}
	mapped, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		m.mapped = mapped
	}
	return m
}

// Reallocate implements experimental.LinearMemory. The address never changes.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.mapped)) {
		m.denied = true
		return nil
	}
	if size > m.usable {
		if err := unix.Mprotect(m.mapped[m.usable:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			m.denied = true
			return nil
		}
		m.usable = size
	}
	return m.mapped[:size:size]
}

// Free implements experimental.LinearMemory. wazero does not call it in every way that an instance
// can end, so the instance's owner does too; nothing may look at the memory afterwards.
func (m *memory) Free() {
	m.once.Do(func() {
		if m.mapped == nil {
			return
		}
		if err := unix.Munmap(m.mapped); err != nil {
			panic(fmt.Sprintf("unmap the memory of a guest: %v", err)) // the mapping is ours: it cannot be wrong
		}
		m.mapped = nil
	})
}
