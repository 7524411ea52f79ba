package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// errKeyNotFound is compared by its text inside raft.
var errKeyNotFound = errors.New("not found")

// Set stores a value and returns when it is on disk.
func (s *store) Set(key, value []byte) error {
	err := guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error { return s.stableBucket(tx).Put(key, seal(value)) })
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

// Get returns a value, or an error that says "not found".
func (s *store) Get(key []byte) (value []byte, err error) {
	err = guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			sealed := s.stableBucket(tx).Get(key)
			if sealed == nil {
				return errKeyNotFound
			}
			value, err = unseal(string(key), sealed)
			return err
		})
	})
	return value, err
}

// SetUint64 stores a number and returns when it is on disk. A number that is there
// already is not written: raft stores the term again at every start, before it has read
// the log, and a start that fails must leave the file as it was.
func (s *store) SetUint64(key []byte, value uint64) error {
	if current, err := s.GetUint64(key); err == nil && current == value {
		return nil
	}
	return s.Set(key, encodeUint64(value))
}

// GetUint64 returns a number, or an error that says "not found".
func (s *store) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("%s: %w: a number of %d bytes", key, ErrCorrupt, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

func encodeUint64(value uint64) []byte { return binary.BigEndian.AppendUint64(nil, value) }
