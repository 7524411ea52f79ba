package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// store is Raft's log and stable store and the member's identity, in one bbolt file.
// store_log.go, store_stable.go and store_identity.go have its three faces.
//
// Two choices make it faster than raft-boltdb: the list of free pages is not written
// with every commit (it is rebuilt on open), and log pages are filled to the brim,
// because log keys only ever grow.
type store struct {
	db   *bolt.DB
	path string
	file fs.FileInfo // as opened: tells whether the path still leads to it

	mu          sync.Mutex
	first, last uint64 // guarded by mu; 0 for an empty log
}

func (s *store) logBucket(tx *bolt.Tx) *bolt.Bucket      { return tx.Bucket([]byte("log")) }
func (s *store) stableBucket(tx *bolt.Tx) *bolt.Bucket   { return tx.Bucket([]byte("stable")) }
func (s *store) identityBucket(tx *bolt.Tx) *bolt.Bucket { return tx.Bucket([]byte("identity")) }

// openStore opens the store in dir, or makes one for the server if dir has none. The
// caller holds the directory's lock. A file that cannot be trusted is refused with
// ErrCorrupt before anything in it has been written.
func openStore(dir, name string) (*store, error) {
	path := filepath.Join(dir, storeFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createStore(dir, path, newIdentity(name)); err != nil {
			return nil, fmt.Errorf("create %s: %w", path, err)
		}
	} else if err != nil {
		return nil, err
	}
	if err := inspectStore(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s, err := openFile(path, false)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if id, err := s.identity(); err != nil {
		return nil, errors.Join(err, s.close())
	} else if id.Name != name {
		return nil, errors.Join(s.close(), fmt.Errorf("%s belongs to server %q, this one is %q: "+
			"use another data directory, or the old name", path, id.Name, name))
	}
	return s, nil
}

// createStore makes the whole file under another name first: a raft.db is complete or
// it is damaged, never half made.
func createStore(dir, path string, id identity) error {
	if found, err := hasSnapshots(dir); err != nil {
		return err
	} else if found {
		return fmt.Errorf("%w: snapshots are there but %s is gone: restore it, or move %s away to start as a new server",
			ErrCorrupt, storeFile, dir)
	}
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := openFile(unfinished, false)
	if err != nil {
		return err
	}
	if err := errors.Join(s.saveIdentity(id), s.close()); err != nil {
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return syncDir(dir)
}

// inspectStore looks through the file without the means to change it.
func inspectStore(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return fmt.Errorf("%w: the file is empty", ErrCorrupt)
	}
	s, err := openFile(path, true)
	if err != nil {
		return err
	}
	defer s.close() //nolint:errcheck // read only
	return guard(func() error {
		if _, err := s.identity(); err != nil {
			return err
		}
		return s.db.View(func(tx *bolt.Tx) error {
			if s.logBucket(tx) == nil || s.stableBucket(tx) == nil {
				return fmt.Errorf("%w: a bucket is missing", ErrCorrupt)
			}
			return nil
		})
	})
}

// openFile opens a bbolt file and, unless read only, makes sure of its buckets.
func openFile(path string, readOnly bool) (*store, error) {
	s := &store{path: path}
	err := guard(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:         lockWait,
			ReadOnly:        readOnly,
			NoFreelistSync:  true,
			FreelistType:    bolt.FreelistMapType,
			InitialMmapSize: 64 << 20,
			NoStatistics:    true,
		})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return nil, err
	}
	if err := guard(func() error { return s.load(readOnly) }); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (s *store) load(readOnly bool) (err error) {
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if err := s.db.View(s.checkLength); err != nil {
		return err
	}
	if !readOnly {
		if err := s.makeBuckets(); err != nil {
			return err
		}
	}
	return s.db.View(func(tx *bolt.Tx) error {
		if b := s.logBucket(tx); b != nil {
			s.first, s.last = bounds(b.Cursor())
		}
		return nil
	})
}

// checkLength refuses a file that ends before its last page, which the map would answer
// with SIGBUS.
func (s *store) checkLength(tx *bolt.Tx) error {
	if size := tx.Size(); size > s.file.Size() {
		return fmt.Errorf("%w: the file was cut short: %d bytes of %d", ErrCorrupt, s.file.Size(), size)
	}
	return nil
}

// makeBuckets writes only if a bucket is missing: opening a store changes no byte.
func (s *store) makeBuckets() error {
	missing := false
	if err := s.db.View(func(tx *bolt.Tx) error {
		missing = s.logBucket(tx) == nil || s.stableBucket(tx) == nil || s.identityBucket(tx) == nil
		return nil
	}); err != nil || !missing {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"log", "stable", "identity"} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// replaced returns an error if the path no longer leads to the open file: what is
// written now would be gone at the next start.
func (s *store) replaced() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if !os.SameFile(info, s.file) {
		return fmt.Errorf("%s was replaced by another file", s.path)
	}
	return nil
}

// close waits for transactions under way.
func (s *store) close() error { return s.db.Close() }

// guard turns bbolt's panics, and the fault of reading a mapped file that became
// shorter, into errors.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	return f()
}

// bounds returns the first and last index in the log, 0 for none.
func bounds(c *bolt.Cursor) (first, last uint64) {
	if k, _ := c.First(); k != nil {
		first = binary.BigEndian.Uint64(k)
	}
	if k, _ := c.Last(); k != nil {
		last = binary.BigEndian.Uint64(k)
	}
	return first, last
}
