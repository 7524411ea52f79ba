package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/config"
)

// space watches the room under the data directory. Below the reserve no job is taken in,
// so that the log has room for the ends of those that are there; everything else goes on,
// and so do submissions once there is room again.
type space struct {
	directory string
	reserve   config.Size
	log       hclog.Logger
	free      atomic.Int64 // bytes, as last seen
}

// spaceEvery is how often the file system is asked: a full second of submissions at full
// speed is some tens of MiB, well below any sensible reserve.
const spaceEvery = time.Second

func newSpace(directory string, reserve config.Size, log hclog.Logger) *space {
	s := &space{directory: directory, reserve: reserve, log: log}
	s.look()
	return s
}

// run looks again and again until ctx is done, and logs when the reserve is reached or
// left.
func (s *space) run(ctx context.Context) error {
	ticker := time.NewTicker(spaceEvery)
	defer ticker.Stop()
	low := false
	for {
		if now := s.low(); now != low {
			low = now
			if low {
				s.log.Warn("disk is nearly full, no job is taken in", "path", s.directory, "free", s.size().String(), "disk_reserve", s.reserve.String())
			} else {
				s.log.Info("disk has room again, jobs are taken in", "path", s.directory, "free", s.size().String())
			}
		}
		select {
		case <-ticker.C:
			s.look()
		case <-ctx.Done():
			return nil
		}
	}
}

// look asks the file system, which answers from memory. What it cannot tell counts as
// enough room: a directory that is gone is for the store to notice.
func (s *space) look() {
	var stat unix.Statfs_t
	if err := unix.Statfs(s.directory, &stat); err != nil {
		s.free.Store(int64(s.reserve))
		return
	}
	s.free.Store(int64(stat.Bavail) * stat.Bsize)
}

func (s *space) size() config.Size { return config.Size(s.free.Load()) }

func (s *space) low() bool { return s.size() < s.reserve }

// admit returns why no job can be taken in, or nil.
func (s *space) admit() error {
	if !s.low() {
		return nil
	}
	return core.Errorf(core.Exhausted, "%s", s.warning())
}

// warning says what is wrong in a sentence, for people.
func (s *space) warning() string {
	return fmt.Sprintf("the disk of this controller is nearly full (%d MiB free, %s reserved): no job is taken in until there is room under %s",
		s.size()/config.MiB, s.reserve, s.directory)
}
