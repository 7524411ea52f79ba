package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

// How a cluster forms, once. Every store begins empty, and an empty store takes part in
// nothing. When all listed servers are reachable, all are empty and all have the same
// list, the one with the lowest address proposes a cluster with a random ID: it asks
// each other server to prepare, which puts the proposal on that server's disk, and when
// all have, writes the first log entry to its own. That write is the commitment. The
// others join on the first Raft connection of the cluster they prepared for.
//
// A crash before the commitment leaves empty stores, some of them prepared, and the next
// proposal replaces what was prepared. After it the proposer has state, so nobody forms
// another cluster beside it. A server that finds state elsewhere waits to be let in.

// formation is the search of an empty server for its first cluster.
type formation struct {
	member *Member
	logged string // the last wait that was logged; only run
}

func newFormation(m *Member) *formation { return &formation{member: m} }

// run looks at the peers until the store belongs to a cluster or ctx is done.
func (f *formation) run(ctx context.Context) {
	m := f.member
	for ctx.Err() == nil && m.identity.get().Cluster == "" && !m.life.isDead() {
		if waits := f.attempt(); waits != nil {
			f.wait(waits.Error())
		}
		pause(ctx, m.cfg.Timing.Poll)
	}
	m.monitor.waitFor("")
}

// wait notes for whom the member waits, and logs it when that changes.
func (f *formation) wait(reason string) {
	f.member.monitor.waitFor(reason)
	if reason == f.logged {
		return
	}
	f.logged = reason
	f.member.logger.Warn("waiting to form or join a cluster", "reason", reason)
}

// attempt looks at every peer and proposes a cluster if it is this server's turn. The
// error says what is missing.
func (f *formation) attempt() error {
	servers, err := f.survey()
	if err != nil {
		return err
	}
	m := f.member
	if lowest := servers[0]; lowest.ID != m.ServerID() {
		return fmt.Errorf("every server is reachable and empty: %s at %s is to propose the cluster", nameOf(lowest.ID), lowest.Address)
	}
	return f.propose(servers)
}

// survey asks every peer who it is and returns all servers in the order of their
// addresses, if they are ready to form a cluster.
func (f *formation) survey() ([]server, error) {
	m := f.member
	servers := []server{{ID: m.ServerID(), Address: m.cfg.Advertise}}
	var missing []string
	for _, address := range m.cfg.Peers {
		if address == m.cfg.Advertise {
			continue
		}
		found, err := m.stream.ask(address, purposeIdentity, m.greet(address))
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", address, err))
			continue
		}
		if found.ServerID == m.ServerID() && found.Nonce == m.identity.nonce {
			continue // this server under another address
		}
		if err := m.agrees(address, found); err != nil {
			return nil, err
		}
		servers = append(servers, server{ID: found.ServerID, Address: found.Address})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("peers do not answer: %s", strings.Join(missing, ", "))
	}
	slices.SortFunc(servers, func(a, b server) int { return strings.Compare(a.Address, b.Address) })
	return servers, f.checkServers(servers)
}

// checkServers refuses a list that does not name each server once.
func (f *formation) checkServers(servers []server) error {
	seen := make(map[string]string)
	for _, s := range servers {
		for _, key := range []string{s.Address, nameOf(s.ID)} {
			if other, dup := seen[key]; dup && other != s.ID {
				return fmt.Errorf("servers %s and %s share the name or address %s", other, s.ID, key)
			}
			seen[key] = s.ID
		}
	}
	if expect := f.member.cfg.BootstrapExpect; len(servers) != expect {
		return fmt.Errorf("the peers are %d servers, bootstrap_expect is %d: list each server once, this one included", len(servers), expect)
	}
	return nil
}

// agrees refuses to form a cluster with a peer that has one or wants another.
func (m *Member) agrees(address string, peer answer) error {
	self := m.ServerID()
	switch {
	case peer.ServerID == self:
		return fmt.Errorf("%s has a copy of this server's store (%s): empty one of the two data directories", address, self)
	case peer.Cluster != "" && (m.pendingCluster() == peer.Cluster):
		return fmt.Errorf("cluster %s has formed: waiting for its leader to connect", peer.Cluster)
	case peer.Cluster != "":
		return fmt.Errorf("%s (%s) belongs to cluster %s and this server is new: add it there as a member; it never forms a second cluster",
			peer.ServerID, address, peer.Cluster)
	case peer.ClusterName != m.cfg.Cluster:
		return fmt.Errorf("%s (%s) is configured for cluster %q, this server for %q", peer.ServerID, address, peer.ClusterName, m.cfg.Cluster)
	case !slices.Equal(peer.Peers, m.cfg.Peers):
		return fmt.Errorf("%s (%s) lists the peers %v, this server %v: they must be the same", peer.ServerID, address, peer.Peers, m.cfg.Peers)
	}
	return nil
}

func (m *Member) pendingCluster() string {
	if p := m.identity.get().Pending; p != nil {
		return p.Cluster
	}
	return ""
}

// propose forms the cluster.
func (f *formation) propose(servers []server) error {
	m := f.member
	p := &proposed{Cluster: randomID(), Proposer: m.ServerID(), Servers: servers}
	for _, s := range servers {
		if s.ID == m.ServerID() {
			continue
		}
		h := m.greet(s.Address)
		h.TargetID, h.Propose = s.ID, p
		if _, err := m.stream.ask(s.Address, purposePrepare, h); err != nil {
			return fmt.Errorf("prepare %s: %w", nameOf(s.ID), err)
		}
	}
	err := m.found(p)
	if err == nil {
		err = m.startRaft()
	}
	if err != nil {
		m.life.die(DeathStart, err, time.Now())
	}
	return err
}

// alone is the cluster of this server only.
func (m *Member) alone() *proposed {
	address := m.cfg.Advertise
	if m.cfg.inject.transport != nil {
		address = string(m.cfg.inject.transport.LocalAddr())
	}
	self := server{ID: m.ServerID(), Address: address}
	return &proposed{Cluster: randomID(), Proposer: self.ID, Servers: []server{self}}
}

// found makes this server the first of the proposed cluster.
func (m *Member) found(p *proposed) error {
	m.startMu.Lock()
	defer m.startMu.Unlock()
	id := m.identity.get()
	if id.Cluster != "" {
		return fmt.Errorf("found cluster %s: this server belongs to %s", p.Cluster, id.Cluster)
	}
	id.Cluster, id.Pending = p.Cluster, nil
	if err := m.identity.bootstrap(id, p.configuration()); err != nil {
		return err
	}
	m.logger.Info("formed cluster", "cluster_id", p.Cluster, "servers", len(p.Servers))
	return nil
}

// prepare puts another server's proposal on disk.
func (m *Member) prepare(h hello) error {
	p := h.Propose
	if err := m.checkProposal(h); err != nil {
		return err
	}
	m.startMu.Lock()
	defer m.startMu.Unlock()
	id := m.identity.get()
	if id.Cluster != "" {
		return fmt.Errorf("server %s belongs to cluster %s already", id.serverID(), id.Cluster)
	}
	id.Pending = p
	if err := m.identity.save(id); err != nil {
		m.life.die(DeathStableStore, fmt.Errorf("write identity: %w", err), time.Now())
		return err
	}
	m.logger.Info("prepared for cluster", "cluster_id", p.Cluster, "proposer", p.Proposer)
	return nil
}

// checkProposal refuses what no server that follows the rules would propose.
func (m *Member) checkProposal(h hello) error {
	p, self := h.Propose, m.ServerID()
	switch {
	case p == nil || p.Cluster == "" || len(p.Cluster) > maxClusterIDBytes:
		return errors.New("no cluster is proposed")
	case h.ClusterName != m.cfg.Cluster:
		return fmt.Errorf("proposal is for cluster %q, server %s is configured for %q", h.ClusterName, self, m.cfg.Cluster)
	case h.TargetID != self || !p.names(self):
		return fmt.Errorf("this is server %s, not %s", self, h.TargetID)
	case p.Proposer != h.SenderID || !p.names(h.SenderID):
		return fmt.Errorf("server %s proposes for %s", h.SenderID, p.Proposer)
	case len(p.Servers) != m.cfg.BootstrapExpect:
		return core.Errorf(core.Conflict, "proposal has %d servers, server %s expects %d", len(p.Servers), self, m.cfg.BootstrapExpect)
	}
	return nil
}

// adopt joins the cluster that this store was prepared for.
func (m *Member) adopt(h hello) error {
	m.startMu.Lock()
	defer m.startMu.Unlock()
	id := m.identity.get()
	if id.Cluster != "" {
		return nil
	}
	if id.Pending == nil || id.Pending.Cluster != h.Cluster || !id.Pending.names(h.SenderID) {
		return fmt.Errorf("server %s belongs to no cluster and was not prepared for %s of server %s: it casts no vote and takes no entry",
			id.serverID(), h.Cluster, h.SenderID)
	}
	id.Cluster, id.Pending = h.Cluster, nil
	if err := m.identity.save(id); err != nil {
		m.life.die(DeathStableStore, fmt.Errorf("write identity: %w", err), time.Now())
		return err
	}
	m.logger.Info("joined cluster", "cluster_id", id.Cluster, "leader", h.SenderID)
	return nil
}

var _ raft.StreamLayer = (*stream)(nil)
