package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// ErrLocked is in the chain of Open's error when another process uses the data
// directory.
var ErrLocked = errors.New("another process holds it")

const (
	storeFile    = "raft.db"
	snapshotsDir = "snapshots" // the name that raft.FileSnapshotStore uses
	lockWait     = time.Second // a predecessor that is just exiting gets this long
)

// lockDir makes dir and takes it for this process until release is called.
func lockDir(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(20 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			break
		}
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
}

// syncDir makes the entries of dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	return f.Sync()
}

// hasSnapshots reports whether dir holds a finished snapshot.
func hasSnapshots(dir string) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(dir, snapshotsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), ".tmp") {
			return true, nil
		}
	}
	return false, err
}

// reapUnfinished removes what a crash left of snapshots that were being written: they
// were never complete, and raft only warns about them.
func reapUnfinished(dir string, logger hclog.Logger) error {
	unfinished, err := filepath.Glob(filepath.Join(dir, snapshotsDir, "*.tmp"))
	if err != nil {
		return err
	}
	for _, path := range unfinished {
		logger.Info("removing unfinished snapshot", "path", path)
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove unfinished snapshot: %w", err)
		}
	}
	return nil
}
