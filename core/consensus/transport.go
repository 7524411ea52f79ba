package consensus

import (
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// newNetworkTransport is raft's own transport on the stream, with pipelining off.
func newNetworkTransport(cfg Config, s *stream) raft.Transport {
	return &addressed{raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:          s,
		MaxPool:         3,
		MaxRPCsInFlight: 1,
		Timeout:         cfg.Timing.Transport,
		Logger:          cfg.Logger.Named("transport"),
	})}
}

// addressed tells the stream which server each RPC is meant for.
type addressed struct{ *raft.NetworkTransport }

func (t *addressed) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	return t.NetworkTransport.AppendEntries(id, qualify(id, target), args, resp)
}

func (t *addressed) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return t.NetworkTransport.RequestVote(id, qualify(id, target), args, resp)
}

func (t *addressed) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.NetworkTransport.RequestPreVote(id, qualify(id, target), args, resp)
}

func (t *addressed) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.NetworkTransport.InstallSnapshot(id, qualify(id, target), args, resp, data)
}

func (t *addressed) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return t.NetworkTransport.TimeoutNow(id, qualify(id, target), args, resp)
}

// guardedTransport is the transport as raft sees it. It closes two holes of raft v1.8.0
// and listens in on the leader's commit index.
type guardedTransport struct {
	raft.Transport
	progress *progress
	life     *mortality
	rpcs     chan raft.RPC
	closed   chan struct{}
	once     sync.Once
}

func guardTransport(inner raft.Transport, p *progress, life *mortality) *guardedTransport {
	t := &guardedTransport{
		Transport: inner, progress: p, life: life,
		rpcs: make(chan raft.RPC), closed: make(chan struct{}),
	}
	go t.forward()
	return t
}

// SetHeartbeatHandler ignores the handler: heartbeats go through the main loop like any
// other RPC. raft's fast path changes term and state beside a main loop that still acts
// as leader, and two replicas can then differ for good (hashicorp/raft#695).
func (t *guardedTransport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntriesPipeline says that there is none, whatever the transport below can do.
func (t *guardedTransport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// RequestPreVote is part of the interface that raft looks for.
func (t *guardedTransport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	inner, ok := t.Transport.(raft.WithPreVote)
	if !ok {
		return fmt.Errorf("transport %T has no pre-vote", t.Transport)
	}
	return inner.RequestPreVote(id, target, args, resp)
}

// Consumer returns the RPCs of the other servers.
func (t *guardedTransport) Consumer() <-chan raft.RPC { return t.rpcs }

// forward hands RPCs to raft; none after a death.
func (t *guardedTransport) forward() {
	for {
		select {
		case rpc := <-t.Transport.Consumer():
			if t.life.isDead() {
				rpc.Respond(nil, errDead)
				continue
			}
			if request, ok := rpc.Command.(*raft.AppendEntriesRequest); ok && request.LeaderCommitIndex > 0 {
				t.progress.heard(request.LeaderCommitIndex)
			}
			select {
			case t.rpcs <- rpc:
			case <-t.life.dead:
				rpc.Respond(nil, errDead)
			case <-t.closed:
				return
			}
		case <-t.closed:
			return
		}
	}
}

// stop ends forward.
func (t *guardedTransport) stop() { t.once.Do(func() { close(t.closed) }) }

// Close ends the transport below as well.
func (t *guardedTransport) Close() error {
	t.stop()
	if inner, ok := t.Transport.(raft.WithClose); ok {
		return inner.Close()
	}
	return nil
}
