package state

import (
	"iter"
	"time"

	"github.com/hashicorp/go-memdb"

	"github.com/rowelhq/rowel/core"
)

// View is the state as of one index. It never changes, takes no lock, and may be used
// from any goroutine and kept for any time; it keeps the memory of what it shows.
// Records that come out of it are shared and must not be changed.
type View struct {
	head
	db      *memdb.MemDB // no longer written to
	changed chan struct{}
}

// Index returns the Raft index of the last entry in the view, 0 before the first.
func (v *View) Index() uint64 { return v.index }

// Time returns the leader's time of the last entry, in UTC; zero before the first.
func (v *View) Time() time.Time { return v.at }

// NextJob returns the ID that the next job will get. All existing IDs are below it.
func (v *View) NextJob() core.JobID { return v.nextJob }

// Changed returns a channel that closes when the store has a newer view than this one:
// after the next entry, whatever it changed, or after a restore.
func (v *View) Changed() <-chan struct{} { return v.changed }

// Counts returns how many jobs are in each state, without looking at them.
func (v *View) Counts() Counts { return v.counts }

// Node returns the node of a name, or nil.
func (v *View) Node(name string) *core.Node {
	return first[core.Node](v.read(), tableNodes, indexID, []byte(name))
}

// Nodes yields all nodes by name.
func (v *View) Nodes() iter.Seq[*core.Node] { return all[core.Node](v, tableNodes, indexID, nil) }

// Member returns the controller with a Raft server ID, and false if none announced it.
func (v *View) Member(serverID string) (core.Member, bool) {
	member := first[core.Member](v.read(), tableMembers, indexID, []byte(serverID))
	if member == nil {
		return core.Member{}, false
	}
	return *member, true
}

// Members returns every controller that ever announced itself, by server ID. Which of
// them are members of the Raft configuration now, consensus knows.
func (v *View) Members() []core.Member {
	var members []core.Member
	for member := range all[core.Member](v, tableMembers, indexID, nil) {
		members = append(members, *member)
	}
	return members
}

// read returns a transaction for one lookup: memdb promises nothing about sharing one.
func (v *View) read() *memdb.Txn { return v.db.Txn(false) }

// all yields the records whose keys begin with prefix, in key order.
func all[R any](v *View, table, index string, prefix []byte) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		iterator, err := v.read().Get(table, index+"_prefix", prefix)
		must(err)
		drain(iterator, yield)
	}
}

// from yields the records whose keys are not below key, in key order.
func from[R any](v *View, table, index string, key []byte) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		iterator, err := v.read().LowerBound(table, index, key)
		must(err)
		drain(iterator, yield)
	}
}

func drain[R any](iterator memdb.ResultIterator, yield func(*R) bool) {
	for record := iterator.Next(); record != nil; record = iterator.Next() {
		if !yield(record.(*R)) {
			return
		}
	}
}
