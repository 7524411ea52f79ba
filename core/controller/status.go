package controller

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/wire"
)

// leader says where the leader serves the API, as far as this replica knows.
func (c *Controller) leader() api.Leader {
	leadership, changed := c.member.Leadership()
	leader := api.Leader{Self: leadership.Leading, Name: leadership.LeaderName, Changed: changed}
	if member, ok := c.store.View().Member(leadership.LeaderID); ok {
		leader.APIAddress = member.APIAddress
	}
	return leader
}

// status describes this controller, without what the view holds.
func (c *Controller) status() *wire.StatusResponse {
	raft := c.member.Status()
	leadership := raft.Leadership
	status := &wire.StatusResponse{
		Cluster:       c.config.Cluster,
		ClusterId:     raft.ClusterID,
		Name:          c.config.Name,
		Version:       c.version,
		Live:          string(c.probe.Live()),
		Ready:         string(c.probe.Ready()),
		Role:          strings.ToLower(raft.State),
		Term:          raft.Term,
		LastIndex:     raft.LastIndex,
		CommitIndex:   raft.CommitIndex,
		AppliedIndex:  raft.AppliedIndex,
		SnapshotIndex: raft.SnapshotIndex,
		Leader:        leadership.LeaderName,
		StartedAt:     timestamppb.New(c.startedAt),
	}
	for _, server := range raft.Servers {
		member := &wire.MemberStatus{
			ServerId: server.ID, Name: server.Name, RaftAddress: server.Address,
			Voter: server.Voter, Leader: server.ID == leadership.LeaderID,
		}
		if announced, ok := c.store.View().Member(server.ID); ok {
			member.ApiAddress = announced.APIAddress
		}
		status.Members = append(status.Members, member)
	}
	if raft.WaitsFor != "" {
		status.Warnings = append(status.Warnings, raft.WaitsFor)
	}
	if c.space.low() {
		status.Warnings = append(status.Warnings, c.space.warning())
	}
	if leadership.Leading {
		status.Policy = c.policyStatus()
		if status.Policy.CircuitOpen {
			status.Warnings = append(status.Warnings, c.circuitWarning())
		}
	}
	return status
}

func (c *Controller) circuitWarning() string {
	if c.policy == c.fallback {
		return "the embedded policy has failed too often: report this with the log of this controller"
	}
	return "policy " + c.policy.Name() + " has failed too often and is not called any more: the embedded policy decides; mend it and restart the controller"
}

func (c *Controller) policyStatus() *wire.PolicyStatus {
	stats := c.scheduler.Stats()
	manifest := c.policy.Manifest()
	status := &wire.PolicyStatus{
		Name:             manifest.Name,
		Version:          manifest.Version,
		Sha256:           c.policy.SHA256(),
		Cycles:           stats.Cycles,
		Fallbacks:        stats.Fallbacks,
		Strikes:          uint32(c.policy.strikes()),
		CircuitOpen:      c.policy.Open(),
		LastCycleSeconds: (stats.Last.Durations.Picture + stats.Last.Durations.Policy + stats.Last.Durations.Apply).Seconds(),
	}
	if fault := stats.LastFault; fault != nil {
		status.LastFault = fault.Time.UTC().Format(time.RFC3339) + " " + fault.Policy + ": " + fault.Text
	}
	return status
}
