package consensus

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// parts is what a member stands on: the disk, or in tests something in its place.
type parts struct {
	log       raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	identity  identityStore
	empty     func() (bool, error) // never part of a cluster
	replaced  func() error         // an error once the store's file is gone
	close     func() error
}

// identityStore keeps the identity beside the log.
type identityStore interface {
	identity() (identity, error)
	saveIdentity(id identity) error
	// bootstrap makes the empty store the first of its cluster.
	bootstrap(id identity, servers raft.Configuration) error
}

// snapshotsKept is how many snapshots stay on disk: the newest, and one to look at.
const snapshotsKept = 2

// openParts opens the data directory.
func openParts(cfg Config) (*parts, error) {
	release, err := lockDir(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s, err := openStore(cfg.DataDir, cfg.Name)
	if err != nil {
		release()
		return nil, err
	}
	p := &parts{
		log: s, stable: s, identity: s, empty: s.empty, replaced: s.replaced,
		close: func() error {
			defer release()
			return s.close()
		},
	}
	if err := reapUnfinished(cfg.DataDir, cfg.Logger); err != nil {
		return nil, errors.Join(err, p.close())
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(cfg.DataDir, snapshotsKept, cfg.Logger.Named("snapshot"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshots: %w", err), p.close())
	}
	p.snapshots = snapshots
	if err := checkSnapshots(cfg.DataDir, snapshots); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if cfg.inject.wrap != nil {
		cfg.inject.wrap(p)
	}
	return p, nil
}

// checkSnapshots refuses a directory whose snapshots cannot all be listed: raft skips
// the ones it cannot read, and would start from an older state, or none, as if whole.
func checkSnapshots(dir string, snapshots raft.SnapshotStore) error {
	listed, err := snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	found, err := hasSnapshots(dir)
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	if found && len(listed) == 0 {
		return fmt.Errorf("%s/%s: %w: no snapshot in it can be read", dir, snapshotsDir, ErrCorrupt)
	}
	return nil
}

// credentials is the member's identity in memory, kept equal to the one on disk.
type credentials struct {
	store   identityStore
	current atomic.Pointer[identity]
	nonce   string // of this process
}

// newCredentials reads the identity, which whoever opened the store has checked.
func newCredentials(store identityStore) *credentials {
	c := &credentials{store: store, nonce: randomID()}
	id, err := store.identity()
	if err != nil {
		panic(fmt.Sprintf("identity changed while it was open: %v", err))
	}
	c.current.Store(&id)
	return c
}

func (c *credentials) get() identity { return *c.current.Load() }

// save makes id durable and then current. Callers take turns, see Member.startMu.
func (c *credentials) save(id identity) error {
	if err := c.store.saveIdentity(id); err != nil {
		return err
	}
	c.current.Store(&id)
	return nil
}

// bootstrap is save for the first member of a cluster.
func (c *credentials) bootstrap(id identity, servers raft.Configuration) error {
	if err := c.store.bootstrap(id, servers); err != nil {
		return err
	}
	c.current.Store(&id)
	return nil
}
