package consensus

import (
	"strconv"

	"github.com/hashicorp/raft"
)

// Status is the member in figures, for people and for metrics.
type Status struct {
	ServerID  string // name#incarnation
	ClusterID string // "" before the store belongs to a cluster
	State     string // "Follower", "Candidate", "Leader", "Shutdown"; "Joining" before Raft runs
	Ready     string // the word of Ready
	WaitsFor  string // what the forming of the cluster waits for, "" for nothing

	Term          uint64
	LastIndex     uint64 // of the log
	CommitIndex   uint64
	AppliedIndex  uint64 // of the state machine itself, not of its queue
	SnapshotIndex uint64

	Leadership Leadership
	Servers    []Server // the newest configuration
}

// Server is one server of the configuration.
type Server struct {
	ID      string
	Name    string
	Address string // of its Raft port
	Voter   bool
}

// Status returns the member's figures. It reads memory only.
func (m *Member) Status() Status {
	id := m.identity.get()
	word, _ := m.Ready()
	leadership, _ := m.Leadership()
	s := Status{
		ServerID: id.serverID(), ClusterID: id.Cluster, State: "Joining",
		Ready: word, WaitsFor: m.monitor.waitsFor(), Leadership: leadership,
	}
	r := m.raft.Load()
	if r == nil {
		return s
	}
	s.State = r.State().String()
	s.Term = r.CurrentTerm()
	s.LastIndex = r.LastIndex()
	s.CommitIndex = r.CommitIndex()
	s.AppliedIndex = m.progress.applied(s.CommitIndex)
	s.SnapshotIndex, _ = strconv.ParseUint(r.Stats()["last_snapshot_index"], 10, 64)
	for _, server := range r.GetConfiguration().Configuration().Servers {
		s.Servers = append(s.Servers, Server{
			ID: string(server.ID), Name: nameOf(string(server.ID)), Address: string(server.Address),
			Voter: server.Suffrage == raft.Voter,
		})
	}
	return s
}
