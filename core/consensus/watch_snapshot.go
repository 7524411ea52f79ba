package consensus

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// watchedSnapshots stands between raft and the snapshot store as watchedLog does for the
// log. raft itself only logs a failed snapshot and lets the log grow.
type watchedSnapshots struct {
	raft.SnapshotStore
	watch *watch
}

func (s *watchedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	if s.watch.life.isDead() {
		return nil, errDead
	}
	_, end := s.watch.begin(DeathStalledStore, "create snapshot")
	defer end()
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, s.check("create snapshot", err)
	}
	s.watch.progressed()
	return &watchedSink{SnapshotSink: sink, index: index, store: s}, nil
}

func (s *watchedSnapshots) List() ([]*raft.SnapshotMeta, error) {
	list, err := s.SnapshotStore.List()
	return list, s.check("list snapshots", err)
}

func (s *watchedSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, reader, err := s.SnapshotStore.Open(id)
	if err != nil {
		return nil, nil, s.check("open snapshot "+id, err)
	}
	return meta, &watchedReader{ReadCloser: reader, id: id, store: s}, nil
}

func (s *watchedSnapshots) check(doing string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
		s.watch.life.die(DeathSnapshotStore, err, s.watch.now())
	}
	return err
}

// watchedSink is a snapshot being written. Close is not timed: making gigabytes durable
// may take long, and runs beside the main loop.
type watchedSink struct {
	raft.SnapshotSink
	index uint64 // the last entry in the snapshot
	store *watchedSnapshots
}

func (s *watchedSink) Write(b []byte) (int, error) {
	_, end := s.store.watch.begin(DeathStalledStore, "write snapshot")
	defer end()
	n, err := s.SnapshotSink.Write(b)
	s.store.watch.progressed()
	return n, s.store.check("write snapshot "+s.ID(), err)
}

func (s *watchedSink) Close() error {
	return s.store.check("finish snapshot "+s.ID(), s.SnapshotSink.Close())
}

// watchedReader is a snapshot being read, to restore it here or to send it.
type watchedReader struct {
	io.ReadCloser
	id    string
	store *watchedSnapshots
}

func (r *watchedReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if err == io.EOF {
		return n, err
	}
	r.store.watch.progressed()
	return n, r.store.check("read snapshot "+r.id, err)
}
