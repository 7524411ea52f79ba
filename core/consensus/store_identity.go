package consensus

import (
	"fmt"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"
)

var identityKey = []byte("record")

// identity reads whose store this is.
func (s *store) identity() (id identity, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		b := s.identityBucket(tx)
		if b == nil {
			return fmt.Errorf("identity: %w: no such bucket", ErrCorrupt)
		}
		id, err = decodeIdentity(b.Get(identityKey))
		return err
	})
	return id, err
}

// saveIdentity replaces the identity and returns when it is on disk.
func (s *store) saveIdentity(id identity) error {
	record, err := id.encode()
	if err != nil {
		return err
	}
	return guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error { return s.identityBucket(tx).Put(identityKey, record) })
	})
}

// bootstrap makes an empty store the first one of a cluster, in one transaction: its
// identity, term 1 and, as entry 1, the configuration. It is raft.BootstrapCluster
// without the moment in which a crash leaves a store that is neither empty nor a member.
func (s *store) bootstrap(id identity, servers raft.Configuration) error {
	record, err := id.encode()
	if err != nil {
		return err
	}
	entry := &raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(servers)}
	err = guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if k, _ := s.logBucket(tx).Cursor().First(); k != nil {
				return raft.ErrCantBootstrap
			}
			if k, _ := s.stableBucket(tx).Cursor().First(); k != nil {
				return raft.ErrCantBootstrap
			}
			if err := s.stableBucket(tx).Put([]byte("CurrentTerm"), seal(encodeUint64(1))); err != nil {
				return err
			}
			if err := s.logBucket(tx).Put(logKey(1), encodeRecord(entry)); err != nil {
				return err
			}
			return s.identityBucket(tx).Put(identityKey, record)
		})
	})
	if err != nil {
		return fmt.Errorf("bootstrap cluster %s: %w", id.Cluster, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.last = 1, 1
	return nil
}

// empty reports whether the store has never been part of a cluster.
func (s *store) empty() (bool, error) {
	empty := false
	err := s.db.View(func(tx *bolt.Tx) error {
		entry, _ := s.logBucket(tx).Cursor().First()
		value, _ := s.stableBucket(tx).Cursor().First()
		empty = entry == nil && value == nil
		return nil
	})
	return empty, err
}
