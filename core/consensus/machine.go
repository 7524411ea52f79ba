package consensus

import (
	"bufio"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// Machine is the replicated state machine that a member drives. Apply, Snapshot and
// Restore are called from one goroutine at a time, never together.
type Machine interface {
	// Apply changes the state by the commands of one log entry, in order, all at the
	// leader's time, and returns one result for each; a result that is an error refused
	// its command. An error in its own right says that the entry cannot be applied: the
	// member dies, because to skip an entry would make replicas differ.
	Apply(index uint64, at time.Time, commands [][]byte) ([]core.Result, error)
	// Snapshot returns the state as it is now. It must be cheap: Apply waits for it.
	Snapshot() (Snapshot, error)
	// Restore replaces the state by the one in a snapshot's bytes.
	Restore(r io.Reader) error
}

// Snapshot is a state that no longer changes. WriteTo runs beside Apply.
type Snapshot interface {
	WriteTo(w io.Writer) (int64, error)
}

// fsm is the Machine as raft wants it. It keeps the machine's panics from ending the
// process and its errors from going unnoticed.
type fsm struct {
	machine  Machine
	watch    *watch
	progress *progress
	cluster  func() string

	at    time.Time // of the last entry; only raft's FSM goroutine, and startRaft before it runs
	clock *clock
}

// ApplyBatch applies committed entries. raft gives it commands and configurations; with
// a plain FSM it would not show configurations, and a snapshot right after one fails.
func (f *fsm) ApplyBatch(entries []*raft.Log) []any {
	responses := make([]any, len(entries))
	for i, entry := range entries {
		responses[i] = f.Apply(entry)
	}
	return responses
}

// Apply applies one entry and returns []core.Result, or an error after a death.
func (f *fsm) Apply(entry *raft.Log) any {
	if f.watch.life.isDead() {
		return errDead
	}
	if entry.Type != raft.LogCommand {
		f.progress.deliver(entry.Index)
		return nil
	}
	since, end := f.watch.begin(DeathStalledStateMachine, "apply entry")
	defer end()
	var results []core.Result
	err := f.sheltered(func() (err error) {
		results, err = f.apply(entry)
		return err
	})
	if err != nil {
		err = fmt.Errorf("apply entry %d of term %d: %w", entry.Index, entry.Term, err)
		f.watch.life.die(DeathStateMachine, err, since)
		return err
	}
	f.progress.deliver(entry.Index)
	return results
}

func (f *fsm) apply(entry *raft.Log) ([]core.Result, error) {
	var e wire.Entry
	if err := proto.Unmarshal(entry.Data, &e); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	// Leaders stamp times that never go back; a replica that saw one do so would not
	// agree with one that restored a snapshot in between, so all of them clamp.
	if at := time.Unix(0, e.GetTimeUnixNano()); at.After(f.at) {
		f.at = at
	}
	f.clock.atLeast(f.at)
	results, err := f.machine.Apply(entry.Index, f.at, e.GetCommands())
	if err != nil {
		return nil, err
	}
	if len(results) != len(e.GetCommands()) {
		return nil, fmt.Errorf("%d results for %d commands", len(results), len(e.GetCommands()))
	}
	return results, nil
}

// Snapshot takes the state for Persist to write.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.watch.life.isDead() {
		return nil, errDead
	}
	since, end := f.watch.begin(DeathStalledStateMachine, "take snapshot")
	defer end()
	var state Snapshot
	err := f.sheltered(func() (err error) {
		state, err = f.machine.Snapshot()
		return err
	})
	if err != nil {
		err = fmt.Errorf("take snapshot: %w", err)
		f.watch.life.die(DeathStateMachine, err, since)
		return nil, err
	}
	return &fsmSnapshot{fsm: f, state: state, header: snapshotHeader{Cluster: f.cluster(), At: f.at}}, nil
}

// Restore takes on a snapshot of this cluster. A failure is a death: what the machine
// holds then is neither the old state nor the new one.
func (f *fsm) Restore(r io.ReadCloser) error {
	since, end := f.watch.restoring()
	defer end()
	err := f.sheltered(func() error {
		buffered := bufio.NewReader(r)
		header, err := readSnapshotHeader(buffered)
		if err != nil {
			return err
		}
		if cluster := f.cluster(); header.Cluster != cluster {
			return fmt.Errorf("snapshot is of cluster %s, this is %s", header.Cluster, cluster)
		}
		if err := f.machine.Restore(buffered); err != nil {
			return err
		}
		f.at = header.At
		f.clock.atLeast(f.at)
		f.progress.deliver(header.Index)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("restore snapshot: %w", err)
		f.watch.life.die(DeathStateMachine, err, since)
	}
	return err
}

// sheltered runs f and returns its panic as an error.
func (f *fsm) sheltered(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// fsmSnapshot is a state on its way to disk.
type fsmSnapshot struct {
	fsm    *fsm
	state  Snapshot
	header snapshotHeader
}

// Persist writes the snapshot, beside Apply.
func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	since := s.fsm.watch.now()
	if watched, ok := sink.(*watchedSink); ok {
		s.header.Index = watched.index
	}
	err := s.fsm.sheltered(func() error {
		buffered := bufio.NewWriterSize(sink, 1<<20)
		if err := s.header.write(buffered); err != nil {
			return err
		}
		if _, err := s.state.WriteTo(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		_ = sink.Cancel()
		err = fmt.Errorf("write snapshot: %w", err)
		s.fsm.watch.life.die(DeathStateMachine, err, since) // unless the sink's error was first
		return err
	}
	return sink.Close()
}

// Release has nothing to free.
func (s *fsmSnapshot) Release() {}
