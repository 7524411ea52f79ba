package consensus

import (
	"fmt"
	"time"
)

// This file is the member as the stream's gate: who may speak Raft with it, and what it
// tells those who only ask.

// hello introduces this member to the server it dials for Raft.
func (m *Member) hello(targetID, targetAddress string) (hello, error) {
	id := m.identity.get()
	if id.Cluster == "" {
		return hello{}, fmt.Errorf("%s belongs to no cluster", id.serverID())
	}
	h := m.greet(targetAddress)
	h.TargetID = targetID
	return h, nil
}

// greet is what this member says of itself.
func (m *Member) greet(targetAddress string) hello {
	id := m.identity.get()
	return hello{
		Cluster: id.Cluster, ClusterName: m.cfg.Cluster,
		SenderID: id.serverID(), SenderAddress: m.cfg.Advertise, TargetAddress: targetAddress,
	}
}

// describe is what this member answers to anyone.
func (m *Member) describe() answer {
	id := m.identity.get()
	a := answer{
		ServerID: id.serverID(), Address: m.cfg.Advertise, Nonce: m.identity.nonce,
		Cluster: id.Cluster, ClusterName: m.cfg.Cluster, Peers: m.cfg.Peers,
	}
	if id.Pending != nil {
		a.Pending = id.Pending.Cluster
	}
	return a
}

// admit answers a connection.
func (m *Member) admit(p purpose, h hello) answer {
	var err error
	switch {
	case m.life.isDead() || m.stopping.Load():
		err = m.gone()
	case p == purposeIdentity:
	case p == purposePrepare:
		err = m.prepare(h)
	case p == purposeRaft:
		err = m.admitRaft(h)
	default:
		err = fmt.Errorf("unknown purpose %d", p)
	}
	a := m.describe()
	if err != nil {
		a.Refusal = err.Error()
	}
	return a
}

// admitRaft lets a server of the same cluster in that means exactly this one. A store
// that was prepared for the sender's cluster joins it now, on disk first.
func (m *Member) admitRaft(h hello) error {
	self := m.ServerID()
	if h.Cluster == "" {
		return fmt.Errorf("server %s belongs to no cluster: it takes no part in Raft", h.SenderID)
	}
	if h.TargetID != self {
		return fmt.Errorf("this is server %s, not %s: that one's disk is gone, or the address is another's now", self, h.TargetID)
	}
	if m.identity.get().Cluster == "" {
		if err := m.adopt(h); err != nil {
			return err
		}
	}
	if cluster := m.identity.get().Cluster; h.Cluster != cluster {
		return fmt.Errorf("server %s is of cluster %s, this is server %s of cluster %s", h.SenderID, h.Cluster, self, cluster)
	}
	if err := m.startRaft(); err != nil { // after adopt; otherwise it runs already
		m.life.die(DeathStart, err, time.Now())
		return err
	}
	return nil
}

// failed is told that the listener broke.
func (m *Member) failed(err error) {
	m.life.die(DeathTransport, err, time.Now())
}
