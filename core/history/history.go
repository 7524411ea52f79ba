// Package history keeps every ended job on disk after the replicated state has
// forgotten it: the embedded job history, one bbolt file in each replica's data
// directory.
//
// Each replica fills its own from its own state, so nothing of it goes through the Raft
// log, and any replica answers questions about the past. core/controller runs the
// follower, the leader's Forget command is held back by Index, and core/api asks Query
// and merges the answer with the jobs that the state still has.
//
// A record is one ended attempt of one job, written once and replaced only by itself:
// its key is the job's ID and attempt, so that following the state twice changes
// nothing. What a job ran (script, environment) is not kept.
//
// The package knows nothing of scheduling, Raft or the network.
package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/rowelhq/rowel/core"
)

// FileName is what the history's file is called in a data directory.
const FileName = "history.db"

// lockTimeout is how long Open waits for another process that holds the file.
const lockTimeout = time.Second

// formatVersion is that of the buckets below. A file of a newer one is refused.
const formatVersion = 1

// The buckets of the file, and the keys of the one that is not a set of records.
var (
	bucketMeta   = []byte("meta")
	bucketJobs   = []byte("jobs")   // ID, attempt -> checksum, wire.Job
	bucketEnded  = []byte("ended")  // end, ID, attempt -> nothing
	bucketArrays = []byte("arrays") // array ID, ID, attempt -> nothing

	keyVersion = []byte("version")
	keyIndex   = []byte("index")
)

// History is one replica's job history. Its methods may be called at any time from any
// goroutine until Close; only one Run may be active.
type History struct {
	db     *bolt.DB
	logger hclog.Logger
	index  atomic.Uint64 // written by Run's goroutine
}

// Open opens the history file, or makes it. It waits up to a second for another process
// that has it open and then returns a Conflict error. Close must be called.
func Open(path string, logger hclog.Logger) (*History, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:        lockTimeout,
		NoFreelistSync: true,
		FreelistType:   bolt.FreelistMapType,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, core.Errorf(core.Conflict, "open job history %q: another process has it open", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open job history %q: %w", path, err)
	}
	h := &History{db: db, logger: logger}
	if err := db.Update(h.prepare); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open job history %q: %w", path, err)
	}
	return h, nil
}

// Close releases the file. Run must have returned.
func (h *History) Close() error { return h.db.Close() }

// Index returns the Raft index up to which the history is complete: every job that the
// state had as ended at that index is on disk. The leader forgets only what is below.
// It goes back when the state does: after a restore from a backup, and while the log is
// replayed after a start.
func (h *History) Index() uint64 { return h.index.Load() }

// prepare makes what a new file lacks and reads the index of an old one.
func (h *History) prepare(tx *bolt.Tx) error {
	for _, name := range [][]byte{bucketMeta, bucketJobs, bucketEnded, bucketArrays} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	version := meta.Get(keyVersion)
	if version == nil {
		return meta.Put(keyVersion, binary.BigEndian.AppendUint64(nil, formatVersion))
	}
	if found := number(version); found != formatVersion {
		return core.Errorf(core.Invalid, "it has format %d and this version of Rowel knows %d: run the version that wrote it", found, formatVersion)
	}
	h.index.Store(number(meta.Get(keyIndex)))
	return nil
}

// number reads a counter of the meta bucket; anything but eight bytes is 0.
func number(value []byte) uint64 {
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}
