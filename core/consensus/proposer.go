package consensus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// proposal is one command on its way into the log.
type proposal struct {
	ctx     context.Context
	data    []byte
	outcome chan outcome // room for one: whoever has it never waits
	claimed atomic.Bool  // by the proposer, or by the caller that gives up
}

// outcome is what became of a proposal.
type outcome struct {
	result core.Result
	err    error
}

func (o outcome) unpack() (core.Result, error) {
	if o.err != nil {
		return nil, o.err
	}
	if err, refused := o.result.(error); refused {
		return nil, err
	}
	return o.result, nil
}

// withdraw takes the proposal back if it has not gone to raft.
func (p *proposal) withdraw() bool { return p.claimed.CompareAndSwap(false, true) }

// proposer turns proposals that wait together into one log entry: one entry costs two
// fsyncs and a round trip, however many commands are in it.
type proposer struct {
	member *Member
	clock  *clock
	queue  chan *proposal
	slots  chan struct{}  // one for each entry in flight
	flying sync.WaitGroup // entries in flight
	ended  chan struct{}  // closed when run has returned

	mu     sync.RWMutex
	closed bool // guarded by mu; nothing is queued any more
}

func newProposer(m *Member, c *clock) *proposer {
	return &proposer{
		member: m, clock: c,
		queue: make(chan *proposal, maxQueued),
		slots: make(chan struct{}, maxInFlight),
		ended: make(chan struct{}),
	}
}

// enqueue adds a proposal, or reports that there is no room.
func (p *proposer) enqueue(proposal *proposal) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false
	}
	select {
	case p.queue <- proposal:
		return true
	default:
		return false
	}
}

// run proposes batches until drain has closed the queue and it is empty.
func (p *proposer) run() {
	defer close(p.ended)
	for first := range p.queue {
		if !p.takeSlot() { // before collecting: what comes meanwhile joins this batch
			if first.withdraw() {
				settle([]*proposal{first}, p.member.gone())
			}
			continue
		}
		batch := p.collect(first)
		if len(batch) == 0 {
			<-p.slots
			continue
		}
		future, err := p.submit(batch)
		if err != nil {
			settle(batch, err)
			<-p.slots
			continue
		}
		p.flying.Go(func() {
			p.finish(batch, future)
			<-p.slots
		})
	}
}

// takeSlot waits for one of the entries in flight to finish, unless none ever will.
func (p *proposer) takeSlot() bool {
	select {
	case p.slots <- struct{}{}:
		return true
	case <-p.member.life.dead:
		return false
	case <-p.member.ctx.Done():
		return false
	}
}

// collect returns the first proposal and those that wait behind it, within the bounds of
// an entry and without the ones that were withdrawn.
func (p *proposer) collect(first *proposal) []*proposal {
	var batch []*proposal
	size := 0
	for next := first; ; {
		if next.claimed.CompareAndSwap(false, true) {
			batch = append(batch, next)
			size += len(next.data)
		}
		if len(batch) == maxBatch || size >= maxBatchBytes {
			return batch
		}
		select {
		case queued, open := <-p.queue:
			if !open {
				return batch
			}
			next = queued
		default:
			return batch
		}
	}
}

// submit stamps the batch and hands it to raft's main loop. An error means that it is
// not in the log.
func (p *proposer) submit(batch []*proposal) (raft.ApplyFuture, error) {
	m := p.member
	r := m.raft.Load()
	if err := p.awaitEstablished(r); err != nil {
		return nil, err
	}
	entry := &wire.Entry{TimeUnixNano: p.clock.stamp().UnixNano(), Commands: make([][]byte, len(batch))}
	for i, proposal := range batch {
		entry.Commands[i] = proposal.data
	}
	data, err := proto.Marshal(entry)
	if err != nil {
		return nil, core.Errorf(core.Internal, "encode entry: %w", err)
	}
	return r.Apply(data, m.cfg.Timing.Enqueue), nil
}

// awaitEstablished waits until this leader has applied what its predecessors committed:
// before that it could stamp an entry with an older time than theirs.
func (p *proposer) awaitEstablished(r *raft.Raft) error {
	m := p.member
	for {
		if m.life.isDead() || m.ctx.Err() != nil {
			return m.gone()
		}
		if r.State() != raft.Leader {
			return m.notLeader()
		}
		if m.leads(r) {
			return nil
		}
		pause(m.ctx, establishPoll)
	}
}

// finish waits for the entry's result and gives every caller its own.
func (p *proposer) finish(batch []*proposal, future raft.ApplyFuture) {
	if err := future.Error(); err != nil {
		settle(batch, p.member.explain(err))
		return
	}
	switch response := future.Response().(type) {
	case []core.Result:
		for i, proposal := range batch {
			proposal.outcome <- outcome{result: response[i]}
		}
	case error:
		settle(batch, unknown(response))
	default:
		settle(batch, unknown(fmt.Errorf("state machine answered %T", response)))
	}
}

// settle gives every caller of a batch the same error.
func settle(batch []*proposal, err error) {
	for _, proposal := range batch {
		proposal.outcome <- outcome{err: err}
	}
}

// drain refuses new proposals and waits for those under way, or for ctx.
func (p *proposer) drain(ctx context.Context) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.queue)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { // outlives drain only if raft owes an answer for good
		defer close(done)
		<-p.ended
		p.flying.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-p.member.life.dead:
	}
}
