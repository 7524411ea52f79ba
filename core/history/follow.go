package history

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

const (
	// commitInterval is the least time between two commits, each of which costs a
	// flush of the disk.
	commitInterval = 250 * time.Millisecond

	// maxCommit bounds the records of one transaction, and with it its memory.
	maxCommit = 10_000

	// A disk that refuses (full, dead) is tried again after firstRetry, then after
	// twice as long each time up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Run follows the state and writes each job that ends, on leaders and followers alike,
// until ctx is done. view returns the newest state and must not block.
//
// It begins with all ended jobs that the state has, because only that is right after a
// restart, a replayed log and a restored backup alike; records that are there already
// cost a comparison. A disk that refuses delays the history and loses nothing, since
// the state forgets no job that is not in it: Run logs, waits and tries again. It
// returns nil when ctx is done and no other time.
func (h *History) Run(ctx context.Context, view func() *state.View) error {
	f := follower{history: h}
	for {
		now := view()
		if err := f.catchUp(ctx, now); err != nil {
			return nil // ctx is done: the next Run begins from what is on disk
		}
		select {
		case <-ctx.Done():
			return nil
		case <-now.Changed():
		}
		if !pause(ctx, time.Until(f.committed.Add(commitInterval))) {
			return nil
		}
	}
}

// follower is the state of one Run, used by its goroutine only.
type follower struct {
	history   *History
	seen      uint64    // everything that ended up to this index is on disk; 0: look at all
	committed time.Time // when the last commit was done
}

// catchUp writes what ended between the index seen and the view's. It fails only when
// ctx is done.
func (f *follower) catchUp(ctx context.Context, view *state.View) error {
	retry := firstRetry
	for {
		err := f.write(view, maxCommit)
		if err == nil {
			return nil
		}
		f.history.logger.Warn("job history is behind: its file cannot be written", "error", err, "index", f.history.Index(), "duration", retry)
		if !pause(ctx, retry/2+rand.N(retry/2)) {
			return ctx.Err()
		}
		retry = min(2*retry, lastRetry)
	}
}

// write commits the jobs that ended since the index seen, if any did, at most so many
// in one transaction.
func (f *follower) write(view *state.View, atOnce int) error {
	if view.Index() < f.seen {
		f.seen = 0 // another past than the one we followed
	}
	jobs := f.ended(view)
	for len(jobs) > atOnce {
		if err := f.commit(jobs[:atOnce], min(f.seen, f.history.Index())); err != nil {
			return err
		}
		jobs = jobs[atOnce:]
	}
	if len(jobs) > 0 {
		if err := f.commit(jobs, view.Index()); err != nil {
			return err
		}
	}
	f.seen = view.Index()
	f.history.index.Store(f.seen)
	return nil
}

// ended collects the jobs of view that ended since the index seen.
func (f *follower) ended(view *state.View) []*core.Job {
	candidates := view.Terminal()
	if f.seen > 0 {
		candidates = view.JobsModifiedSince(f.seen)
	}
	var jobs []*core.Job
	for job := range candidates {
		if job.State.Terminal() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// commit writes records and, in the same transaction, the index that they complete.
func (f *follower) commit(jobs []*core.Job, index uint64) error {
	err := f.history.db.Update(func(tx *bolt.Tx) error {
		for _, job := range jobs {
			if err := put(tx, job); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyIndex, binary.BigEndian.AppendUint64(nil, index))
	})
	if err != nil {
		return fmt.Errorf("write %d ended jobs up to index %d: %w", len(jobs), index, err)
	}
	f.committed = time.Now()
	return nil
}

// pause waits and reports whether ctx is still alive.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
