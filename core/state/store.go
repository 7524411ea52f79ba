package state

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-memdb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// Store holds the newest state and replaces it one entry at a time. Its methods may be
// called from any goroutine; Apply and Restore wait for each other, readers for nobody.
type Store struct {
	writer  sync.Mutex           // held by Apply and Restore
	current atomic.Pointer[View] // replaced whole, by the holder of writer
}

// New returns an empty store at index 0.
func New() *Store {
	s := &Store{}
	s.current.Store(&View{db: newDB(), head: head{nextJob: 1}, changed: make(chan struct{})})
	return s
}

// newDB returns an empty database. It is a memdb snapshot, which differs from the
// original in one thing: it does not track watches for each record. Views have one
// channel instead, and writes cost a third less.
func newDB() *memdb.MemDB {
	db, err := memdb.NewMemDB(schema())
	if err != nil {
		panic(fmt.Sprintf("the schema of the state is wrong: %v", err))
	}
	return db.Snapshot()
}

// View returns the newest state. It costs nothing and stays as it is for ever.
func (s *Store) View() *View { return s.current.Load() }

// Apply applies one log entry: its commands in order, as one change that readers see
// whole. It returns one result for each command: the struct that core names beside the
// command, or an error with a core.Kind if the state refused it, in which case the
// command changed nothing.
//
// at is the leader's time and must lie within what int64 nanoseconds since 1970 hold;
// one that is earlier than the last entry's counts as the last entry's. An index that
// is not greater than View().Index() is a replay of what a snapshot has already: it is
// ignored, and the results are nil.
//
// A non-nil error means that this replica cannot know what the others now hold: a
// command it does not understand, or an invariant found broken. Nothing of the entry is
// applied, and the replica must stop.
func (s *Store) Apply(index uint64, at time.Time, commands [][]byte) ([]core.Result, error) {
	s.writer.Lock()
	defer s.writer.Unlock()
	base := s.current.Load()
	if index <= base.index {
		return nil, nil
	}
	e := newEntry(base, index, at)
	results := make([]core.Result, 0, len(commands))
	for i, data := range commands {
		command, err := wire.DecodeCommand(data)
		if err == nil {
			results = append(results, e.apply(command))
			err = e.broken
		}
		if err != nil {
			return nil, fmt.Errorf("apply entry %d: command %d of %d: %w", index, i+1, len(commands), err)
		}
	}
	s.publish(e.commit())
	return results, nil
}

// publish makes next the newest state and wakes those who waited on the one before.
func (s *Store) publish(next *View) {
	close(s.current.Swap(next).changed)
}

// apply dispatches one command to the file that is about it.
func (e *entry) apply(command core.Command) core.Result {
	switch c := command.(type) {
	case core.SubmitJobs:
		return result(e.submitJobs(c))
	case core.CancelJobs:
		return result(e.cancelJobs(c))
	case core.ApplyPlan:
		return e.applyPlan(c.Plan)
	case core.ReportJobs:
		return result(e.reportJobs(c))
	case core.RegisterNode:
		return nothing(e.registerNode(c))
	case core.DrainNode:
		return nothing(e.drainNode(c))
	case core.MarkNodes:
		return nothing(e.markNodes(c))
	case core.Forget:
		return e.forget(c)
	case core.AnnounceMember:
		return nothing(e.announceMember(c.Member))
	}
	e.breaks("%T was decoded and cannot be applied", command)
	return nil
}

func result[R any](answer R, err error) core.Result {
	if err != nil {
		return err
	}
	return answer
}

// nothing is the result of a command that answers nil: a nil error in an interface of
// its own would not be.
func nothing(err error) core.Result {
	if err != nil {
		return err
	}
	return nil
}

// must panics if memdb refused a call, which only a defect in the schema explains.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the state's database refused a call: %v", err))
	}
}
