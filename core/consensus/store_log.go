package consensus

import (
	"encoding/binary"
	"fmt"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"
)

// deleteChunk is the number of entries that one transaction removes: a truncation of a
// million entries must not hold up an append for longer than a few milliseconds.
const deleteChunk = 2048

// IsMonotonic tells raft that the log has no gaps: after installing a snapshot it clears
// what was before.
func (s *store) IsMonotonic() bool { return true }

// FirstIndex returns the index of the oldest entry, 0 for an empty log.
func (s *store) FirstIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, nil
}

// LastIndex returns the index of the newest entry, 0 for an empty log.
func (s *store) LastIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}

// GetLog reads the entry at index: raft.ErrLogNotFound if there is none, ErrCorrupt in
// the chain if it is not what was stored.
func (s *store) GetLog(index uint64, entry *raft.Log) error {
	return guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			record := s.logBucket(tx).Get(logKey(index))
			if record == nil {
				return raft.ErrLogNotFound
			}
			return decodeRecord(index, record, entry)
		})
	})
}

// StoreLog appends one entry.
func (s *store) StoreLog(entry *raft.Log) error { return s.StoreLogs([]*raft.Log{entry}) }

// StoreLogs appends entries, all or none, and returns when they are on disk. They must
// continue the log without a gap.
func (s *store) StoreLogs(entries []*raft.Log) error {
	if len(entries) == 0 {
		return nil
	}
	first, last := entries[0].Index, entries[len(entries)-1].Index
	if err := s.checkContinues(entries); err != nil {
		return err
	}
	err := guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			b := s.logBucket(tx)
			b.FillPercent = 1.0 // keys only grow: a page is never inserted into
			for _, entry := range entries {
				if err := b.Put(logKey(entry.Index), encodeRecord(entry)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("store log entries %d to %d: %w", first, last, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 {
		s.first = first
	}
	s.last = last
	return nil
}

func (s *store) checkContinues(entries []*raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.last + 1
	if s.last == 0 {
		next = entries[0].Index
	}
	for _, entry := range entries {
		if entry.Index != next {
			return fmt.Errorf("store log entry %d: the log continues at %d", entry.Index, next)
		}
		next++
	}
	return nil
}

// DeleteRange removes the entries from lowest to highest, both included, in chunks. At
// every moment, and after a crash, what is left has no gap.
func (s *store) DeleteRange(lowest, highest uint64) error {
	s.mu.Lock()
	first, last := s.first, s.last
	s.mu.Unlock()
	lowest, highest = max(lowest, first), min(highest, last)
	if first == 0 || lowest > highest {
		return nil
	}
	prefix := lowest == first
	if !prefix && highest != last {
		return fmt.Errorf("delete log entries %d to %d: would leave a gap in %d to %d", lowest, highest, first, last)
	}
	for lowest <= highest {
		from, to := lowest, min(highest, lowest+deleteChunk-1)
		if prefix {
			lowest = to + 1
		} else {
			from, to = max(lowest, highest-min(highest, deleteChunk)+1), highest
			highest = from - 1
		}
		if err := s.deleteChunk(from, to); err != nil {
			return fmt.Errorf("delete log entries %d to %d: %w", from, to, err)
		}
	}
	return nil
}

// deleteChunk removes one end of the log.
func (s *store) deleteChunk(from, to uint64) error {
	return guard(func() error {
		var first, last uint64
		err := s.db.Update(func(tx *bolt.Tx) error {
			b := s.logBucket(tx)
			b.FillPercent = 1.0
			for index := from; index <= to; index++ {
				if err := b.Delete(logKey(index)); err != nil {
					return err
				}
			}
			first, last = bounds(b.Cursor())
			return nil
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.first, s.last = first, last
		return nil
	})
}

// logKey orders entries by index.
func logKey(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }
