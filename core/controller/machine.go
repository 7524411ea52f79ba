package controller

import (
	"io"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/consensus"
	"github.com/rowelhq/rowel/core/state"
)

// machine lets a consensus member drive the state.
type machine struct{ store *state.Store }

var _ consensus.Machine = machine{}

func (m machine) Apply(index uint64, at time.Time, commands [][]byte) ([]core.Result, error) {
	return m.store.Apply(index, at, commands)
}

func (m machine) Snapshot() (consensus.Snapshot, error) { return m.store.Snapshot() }

func (m machine) Restore(r io.Reader) error { return m.store.Restore(r) }
