package consensus

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/hashicorp/raft"
)

// watchedLog stands between raft and the log store: it times every call, declares the
// member dead at the first error, and tells progress which entries there are.
type watchedLog struct {
	raft.LogStore
	watch    *watch
	progress *progress
	started  func() bool // whether raft runs, see fatal
}

// IsMonotonic passes on what the store below says of itself.
func (l *watchedLog) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

func (l *watchedLog) FirstIndex() (uint64, error) {
	index, err := l.LogStore.FirstIndex()
	return index, l.check("first index", err)
}

func (l *watchedLog) LastIndex() (uint64, error) {
	index, err := l.LogStore.LastIndex()
	return index, l.check("last index", err)
}

func (l *watchedLog) GetLog(index uint64, entry *raft.Log) error {
	_, end := l.watch.begin(DeathStalledStore, "read log entry")
	defer end()
	err := l.LogStore.GetLog(index, entry)
	if err == nil {
		l.progress.stored(entry)
		return nil
	}
	if errors.Is(err, raft.ErrLogNotFound) {
		return raft.ErrLogNotFound // raft compares without errors.Is
	}
	err = l.check("read log entry", err)
	fatal(l.started)
	return err
}

func (l *watchedLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l *watchedLog) StoreLogs(entries []*raft.Log) error {
	if l.watch.life.isDead() {
		return errDead
	}
	_, end := l.watch.begin(DeathStalledStore, "append to log")
	defer end()
	if err := l.check("append to log", l.LogStore.StoreLogs(entries)); err != nil {
		return err
	}
	for _, entry := range entries {
		l.progress.stored(entry)
	}
	return nil
}

// DeleteRange is not timed: it is many short transactions, and a disk that stalls in one
// of them stalls the next append, or the main loop, as well.
func (l *watchedLog) DeleteRange(lowest, highest uint64) error {
	if l.watch.life.isDead() {
		return errDead
	}
	l.progress.removed(lowest, highest)
	return l.check("truncate log", l.LogStore.DeleteRange(lowest, highest))
}

func (l *watchedLog) check(doing string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
		l.watch.life.die(DeathLogStore, err, l.watch.now())
	}
	return err
}

// watchedStable is the same for the stable store.
type watchedStable struct {
	raft.StableStore
	watch   *watch
	started func() bool
}

func (s *watchedStable) Get(key []byte) ([]byte, error) {
	_, end := s.watch.begin(DeathStalledStore, "read "+string(key))
	defer end()
	value, err := s.StableStore.Get(key)
	return value, s.check("read "+string(key), err)
}

func (s *watchedStable) GetUint64(key []byte) (uint64, error) {
	_, end := s.watch.begin(DeathStalledStore, "read "+string(key))
	defer end()
	value, err := s.StableStore.GetUint64(key)
	return value, s.check("read "+string(key), err)
}

func (s *watchedStable) Set(key, value []byte) error {
	if s.watch.life.isDead() {
		return errDead
	}
	_, end := s.watch.begin(DeathStalledStore, "write "+string(key))
	defer end()
	return s.check("write "+string(key), s.StableStore.Set(key, value))
}

func (s *watchedStable) SetUint64(key []byte, value uint64) error {
	if s.watch.life.isDead() {
		fatal(s.started)
		return errDead
	}
	_, end := s.watch.begin(DeathStalledStore, "write "+string(key))
	defer end()
	err := s.check("write "+string(key), s.StableStore.SetUint64(key, value))
	if err != nil {
		fatal(s.started)
	}
	return err
}

func (s *watchedStable) check(doing string, err error) error {
	if err == nil || err.Error() == errKeyNotFound.Error() {
		return err
	}
	err = fmt.Errorf("%s: %w", doing, err)
	s.watch.life.die(DeathStableStore, err, s.watch.now())
	return err
}

// errDead is what a dead member's stores answer: nothing is written after a death.
var errDead = errors.New("this member is dead")

// fatal ends the calling goroutine of raft, deferred clean-up included, where raft would
// answer the store's error with a panic that takes the process down with exit code 2.
// The death has been announced by then, and the supervisor ends the process with its
// reason. While Open still builds the instance the error reaches the caller instead.
func fatal(started func() bool) {
	if started() {
		runtime.Goexit()
	}
}
