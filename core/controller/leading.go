package controller

import (
	"context"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/supervisor"
)

// runLeaderTasks runs what only a leader does, while this replica leads.
func (c *Controller) runLeaderTasks(ctx context.Context) error {
	forget := &forgetter{
		retention: c.config.Jobs.Retention,
		view:      c.store.View,
		history:   c.history.Index,
		proposer:  c.member,
		clock:     time.Now,
		log:       c.log.Named("forget"),
	}
	tasks := supervisor.NewLeaderTasks(c.log.Named("leader"))
	tasks.Add("announce", c.announce)
	tasks.Add("scheduler", c.scheduler.Run)
	tasks.Add("dispatch", c.dispatch.Run)
	tasks.Add("health", c.health.Run)
	tasks.Add("forget", forget.run)
	return tasks.Run(ctx, c.leads(ctx))
}

// leads delivers every change of whether this replica leads, until ctx is done.
func (c *Controller) leads(ctx context.Context) <-chan bool {
	changes := make(chan bool)
	go func() {
		defer close(changes)
		last := false
		for {
			now, changed := c.member.Leadership()
			if now.Leading != last {
				select {
				case changes <- now.Leading:
					last = now.Leading
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes
}

// leading reports whether this replica leads.
func (c *Controller) leading() bool {
	leadership, _ := c.member.Leadership()
	return leadership.Leading
}

// announce tells every replica where this leader serves the API, so that they can pass
// requests on. It is also the first entry of a new leader, behind everything that the
// old one committed.
func (c *Controller) announce(ctx context.Context) error {
	leadership, _ := c.member.Leadership()
	member := core.Member{
		ServerID:   leadership.LeaderID,
		Name:       c.config.Name,
		APIAddress: advertised(c.config.AdvertiseAPI(), c.listeners.API),
		Version:    c.version,
	}
	if known, ok := c.store.View().Member(member.ServerID); ok && known == member {
		return nil
	}
	_, err := c.member.Propose(ctx, core.AnnounceMember{Member: member})
	return err
}

// handover is the part that is stopped first: no new traffic, leadership to another.
type handover struct{ *Controller }

// handoverLimit bounds the transfer: a cluster that cannot take over elects.
const handoverLimit = 3 * time.Second

// Start does nothing.
func (h handover) Start(context.Context) error { return nil }

// Stop makes the replica unready and gives leadership away if it can.
func (h handover) Stop(ctx context.Context) error {
	h.checks.stopping()
	if !h.leading() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handoverLimit)
	defer cancel()
	if err := h.member.TransferLeadership(ctx); err != nil {
		if core.KindOf(err) != core.Conflict { // there is nobody to hand it to
			h.log.Warn("leadership not handed over", "error", err)
		}
		return nil
	}
	h.awaitSuccessor(ctx)
	return nil
}

// awaitSuccessor stays until another leads: its election needs votes, perhaps this
// one's, and clients that ask here meanwhile are passed on.
func (h handover) awaitSuccessor(ctx context.Context) {
	for {
		leadership, changed := h.member.Leadership()
		if leadership.LeaderID != "" && !leadership.Leading {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
