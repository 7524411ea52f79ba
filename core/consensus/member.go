package consensus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Member is one server of the cluster. Its methods may be called at any time, also
// before the cluster has formed and after the member died or was closed.
type Member struct {
	cfg      Config
	logger   hclog.Logger
	parts    *parts
	identity *credentials
	fsm      *fsm
	life     *mortality
	watch    *watch
	progress *progress
	stream   *stream // nil with an injected transport
	proposer *proposer
	reads    *reads
	monitor  *monitor
	raft     atomic.Pointer[raft.Raft] // nil until the store belongs to a cluster
	wire     *guardedTransport         // raft's; guarded by startMu

	startMu  sync.Mutex  // held while raft is being built
	starting atomic.Bool // raft is being built: its panics are the caller's errors
	stopping atomic.Bool
	ctx      context.Context // done when the member closes
	cancel   context.CancelFunc
	wg       sync.WaitGroup // the member's own goroutines
}

// Open locks the data directory, opens or makes its store and takes up the member's
// place in its cluster. With a store that belongs to a cluster it returns when Raft
// runs; the error then has ErrLocked or ErrCorrupt in its chain where that is the cause.
// With an empty one it forms a cluster: at once if this server is alone, else when every
// peer is reachable and empty, in the background; Ready and the log say for whom it
// waits. The machine must be empty; Open restores it from the last snapshot.
func Open(cfg Config, machine Machine) (*Member, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	open := openParts
	if cfg.inject.parts != nil {
		open = func(Config) (*parts, error) { return cfg.inject.parts() }
	}
	parts, err := open(cfg)
	if err != nil {
		return nil, err
	}
	m := newMember(cfg, parts, machine)
	if err := m.begin(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.Timing.Stall)
		defer cancel()
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

func newMember(cfg Config, parts *parts, machine Machine) *Member {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Member{
		cfg: cfg, logger: cfg.Logger, parts: parts, progress: newProgress(),
		identity: newCredentials(parts.identity), ctx: ctx, cancel: cancel,
	}
	m.life = newMortality(m.cutOff)
	m.watch = newWatch(m.life, time.Now)
	clock := &clock{now: cfg.Now}
	m.fsm = &fsm{
		machine: machine, watch: m.watch, progress: m.progress, clock: clock,
		cluster: func() string { return m.identity.get().Cluster },
	}
	if cfg.inject.transport == nil {
		m.stream = newStream(cfg, m)
	}
	m.proposer = newProposer(m, clock)
	m.reads = newReads(m)
	m.monitor = newMonitor(m)
	return m
}

// begin starts the member's goroutines and, if the store has a cluster, raft.
func (m *Member) begin() error {
	id := m.identity.get()
	m.logger.Info("opened store", "server", id.serverID(), "cluster_id", id.Cluster)
	if m.stream != nil {
		m.stream.start()
	}
	m.wg.Go(m.monitor.run)
	m.wg.Go(m.proposer.run)
	if id.Cluster == "" {
		empty, err := m.parts.empty()
		if err != nil {
			return err
		}
		if !empty {
			return fmt.Errorf("%s: %w: it has a log but belongs to no cluster", m.cfg.DataDir, ErrCorrupt)
		}
		if !m.cfg.single() {
			m.wg.Go(func() { newFormation(m).run(m.ctx) })
			return nil
		}
		if err := m.found(m.alone()); err != nil {
			return err
		}
	}
	return m.startRaft()
}

// startRaft builds the raft instance on a store that belongs to a cluster. It does
// nothing if that is done already.
func (m *Member) startRaft() (err error) {
	m.startMu.Lock()
	defer m.startMu.Unlock()
	if m.raft.Load() != nil || m.stopping.Load() {
		return nil
	}
	m.starting.Store(true)
	defer m.starting.Store(false)
	id := raft.ServerID(m.identity.get().serverID())
	transport := m.cfg.inject.transport
	if transport == nil {
		transport = newNetworkTransport(m.cfg, m.stream)
	}
	guarded := guardTransport(transport, m.progress, m.life)
	r, err := m.newRaft(id, guarded)
	if err == nil && m.life.isDead() { // raft passes over a snapshot that cannot be restored
		_ = r.Shutdown()
		err = errDead
	}
	if err != nil {
		m.wg.Go(func() { _ = guarded.Close() }) // waits for handshakes, one of which may have called
		if death, dead := m.Death(); dead {
			err = death.Cause
		}
		return fmt.Errorf("start raft on %s: %w", m.cfg.DataDir, err)
	}
	m.wire = guarded
	m.raft.Store(r)
	m.monitor.attach(r)
	return nil
}

// newRaft calls raft.NewRaft, which panics on a log entry that cannot be read.
func (m *Member) newRaft(id raft.ServerID, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
			if cause, ok := p.(error); ok {
				err = cause
			}
		}
	}()
	started := func() bool { return !m.starting.Load() }
	return raft.NewRaft(m.cfg.raftConfig(id), m.fsm,
		&watchedLog{LogStore: m.parts.log, watch: m.watch, progress: m.progress, started: started},
		&watchedStable{StableStore: m.parts.stable, watch: m.watch, started: started},
		&watchedSnapshots{SnapshotStore: m.parts.snapshots, watch: m.watch}, transport)
}

// ServerID returns name#incarnation: the identity of this member's store.
func (m *Member) ServerID() string { return m.identity.get().serverID() }

// ClusterID returns the ID of the cluster that the store belongs to, "" for none yet.
func (m *Member) ClusterID() string { return m.identity.get().Cluster }

// cutOff ends the member's part in the cluster at its death.
func (m *Member) cutOff() {
	if m.stream != nil {
		m.stream.cutOff()
	}
}

// Close stops the member: proposals are refused, those under way get their answer or
// Unknown, Raft stops, the store is closed and the directory released. It returns
// ctx's error, and leaves behind what hangs, if that takes longer than ctx allows. It
// does not hand leadership over; see TransferLeadership.
func (m *Member) Close(ctx context.Context) error {
	m.stopping.Store(true)
	m.proposer.drain(ctx)
	m.cancel()
	done := make(chan error, 1)
	go func() { done <- m.shutDown() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close member %s: %w", m.cfg.Name, ctx.Err())
	}
}

// shutDown may block for as long as a disk does.
func (m *Member) shutDown() error {
	m.startMu.Lock() // a start that is under way finishes first
	r, transport := m.raft.Load(), m.wire
	m.startMu.Unlock()
	var stopped raft.Future
	if r != nil {
		stopped = r.Shutdown()
	}
	// Closing also ends RPCs that raft would wait for. A raft that has stopped by itself
	// closes nothing the second time.
	if transport != nil {
		_ = transport.Close()
	}
	if m.stream != nil {
		_ = m.stream.Close()
	}
	var err error
	if stopped != nil {
		err = stopped.Error()
	}
	m.wg.Wait()
	return errors.Join(err, m.parts.close())
}
