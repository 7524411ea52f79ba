package controller

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
)

// proposer is the one door in.
type proposer interface {
	Propose(ctx context.Context, command core.Command) (core.Result, error)
}

// forgetter lets the state drop jobs that ended long ago and are in the history. It is
// a leader-only task.
type forgetter struct {
	retention time.Duration
	view      func() *state.View
	history   func() uint64 // the index that the history has on disk
	proposer  proposer
	clock     func() time.Time
	log       hclog.Logger
}

// forgetEvery is how often it looks: often enough that the state stays near its bound.
const forgetEvery = time.Minute

func (f *forgetter) run(ctx context.Context) error {
	ticker := time.NewTicker(min(forgetEvery, max(f.retention/4, time.Second)))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := f.once(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("old jobs not forgotten, trying again", "error", err)
		}
	}
}

func (f *forgetter) once(ctx context.Context) error {
	before := f.clock().Add(-f.retention)
	if !f.due(before) {
		return nil
	}
	result, err := f.proposer.Propose(ctx, core.Forget{EndedBefore: before, HistoryIndex: f.history()})
	if err != nil {
		return err
	}
	if gone := result.(core.Forgotten); gone.Jobs > 0 {
		f.log.Debug("jobs left to the history", "jobs", gone.Jobs)
	}
	return nil
}

// due keeps the log still while there is nothing to forget.
func (f *forgetter) due(before time.Time) bool {
	for job := range f.view().Terminal() {
		if job.EndedAt.Before(before) {
			return true
		}
	}
	return false
}
