package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// statusOutput is what status --json prints.
type statusOutput struct {
	Cluster    string            `json:"cluster"`
	ClusterID  string            `json:"cluster_id"`
	Controller controllerOutput  `json:"controller"` // that answered
	Leader     *string           `json:"leader"`     // null: none known
	Members    []memberOutput    `json:"members"`
	Policy     *policyOutput     `json:"policy"` // null where the leader alone knows
	Jobs       map[string]uint32 `json:"jobs"`   // by state, those still kept
	Nodes      map[string]uint32 `json:"nodes"`  // by state
	Warnings   []string          `json:"warnings"`
}

type controllerOutput struct {
	Name          string     `json:"name"`
	Version       string     `json:"version"`
	Live          string     `json:"live"`
	Ready         string     `json:"ready"`
	Role          string     `json:"role"`
	Term          uint64     `json:"term"`
	LastIndex     uint64     `json:"last_index"`
	CommitIndex   uint64     `json:"commit_index"`
	AppliedIndex  uint64     `json:"applied_index"`
	SnapshotIndex uint64     `json:"snapshot_index"`
	StartedAt     *time.Time `json:"started_at"`
}

type memberOutput struct {
	ServerID    string `json:"server_id"`
	Name        string `json:"name"`
	RaftAddress string `json:"raft_address"`
	APIAddress  string `json:"api_address"`
	Voter       bool   `json:"voter"`
	Leader      bool   `json:"leader"`
}

type policyOutput struct {
	Name             string  `json:"name"`
	Version          string  `json:"version"`
	SHA256           string  `json:"sha256"`
	Cycles           uint64  `json:"cycles"`
	Fallbacks        uint64  `json:"fallbacks"`
	Strikes          uint32  `json:"strikes"`
	CircuitOpen      bool    `json:"circuit_open"`
	LastFault        *string `json:"last_fault"`
	LastCycleSeconds float64 `json:"last_cycle_seconds"`
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:     "status",
		Category: categoryCluster,
		Usage:    "say how a controller and its cluster are",
		Description: manual(`The controller that answers speaks for itself: its role, how far its log is, the members it knows, its
policy if it is the leader, and what an operator should look at.`,
			`rowel status
			rowel status --address ctl-2.example.org:6817 --json`,
			"0 the controller answered, ready or not", exitUsage, exitUnavailable),
		Flags: clientFlags(jsonFlag()),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			client, err := newClient(c)
			if err != nil {
				return err
			}
			defer client.Close()
			status, err := client.Status(c.Context)
			if err != nil {
				return err
			}
			output := toStatusOutput(status)
			if c.Bool("json") {
				return writeJSON(c.App.Writer, output)
			}
			return writeStatus(c.App.Writer, output)
		},
	}
}

func toStatusOutput(s *wire.StatusResponse) statusOutput {
	out := statusOutput{
		Cluster: s.GetCluster(), ClusterID: s.GetClusterId(),
		Controller: controllerOutput{
			Name: s.GetName(), Version: s.GetVersion(), Live: s.GetLive(), Ready: s.GetReady(), Role: s.GetRole(), Term: s.GetTerm(),
			LastIndex: s.GetLastIndex(), CommitIndex: s.GetCommitIndex(), AppliedIndex: s.GetAppliedIndex(),
			SnapshotIndex: s.GetSnapshotIndex(), StartedAt: protoTime(s.GetStartedAt()),
		},
		Leader: orNull(s.GetLeader()), Members: []memberOutput{}, Warnings: append([]string{}, s.GetWarnings()...),
		Jobs: map[string]uint32{}, Nodes: map[string]uint32{},
	}
	for state, n := range s.GetJobs() {
		out.Jobs[state] = n
	}
	for state, n := range s.GetNodes() {
		out.Nodes[state] = n
	}
	for _, m := range s.GetMembers() {
		out.Members = append(out.Members, memberOutput{
			ServerID: m.GetServerId(), Name: m.GetName(), RaftAddress: m.GetRaftAddress(), APIAddress: m.GetApiAddress(),
			Voter: m.GetVoter(), Leader: m.GetLeader(),
		})
	}
	if p := s.GetPolicy(); p != nil {
		out.Policy = &policyOutput{
			Name: p.GetName(), Version: p.GetVersion(), SHA256: p.GetSha256(), Cycles: p.GetCycles(), Fallbacks: p.GetFallbacks(),
			Strikes: p.GetStrikes(), CircuitOpen: p.GetCircuitOpen(), LastFault: orNull(p.GetLastFault()),
			LastCycleSeconds: p.GetLastCycleSeconds(),
		}
	}
	return out
}

func protoTime(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	return timeOrNull(t.AsTime())
}

func writeStatus(w io.Writer, s statusOutput) error {
	var b strings.Builder
	c := s.Controller
	leader := "none known"
	if s.Leader != nil {
		leader = *s.Leader
	}
	fmt.Fprintf(&b, "Cluster     %s (%s)\n", s.Cluster, s.ClusterID)
	fmt.Fprintf(&b, "Controller  %s, version %s: live %s, ready %s\n", c.Name, c.Version, c.Live, c.Ready)
	fmt.Fprintf(&b, "Raft        %s, term %d, applied %d of %d, snapshot at %d\n", c.Role, c.Term, c.AppliedIndex, c.LastIndex, c.SnapshotIndex)
	fmt.Fprintf(&b, "Leader      %s\n", leader)
	if s.Policy != nil {
		fmt.Fprintf(&b, "Policy      %s\n", policyText(s.Policy))
	}
	fmt.Fprintf(&b, "Jobs        %s\n", countsText(s.Jobs, jobStateNames()))
	fmt.Fprintf(&b, "Nodes       %s\n", countsText(s.Nodes, nodeStateNames()))
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "Warning     %s\n", printable(warning))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(s.Members) == 0 {
		return nil
	}
	t := table{columns: []column{left("MEMBER"), left("ROLE"), left("RAFT"), left("API"), left("SERVER-ID")}}
	for _, m := range s.Members {
		role := "non-voter"
		switch {
		case m.Leader:
			role = "leader"
		case m.Voter:
			role = "voter"
		}
		t.add(m.Name, role, m.RaftAddress, m.APIAddress, m.ServerID)
	}
	fmt.Fprintln(w)
	return t.write(w, true)
}

func policyText(p *policyOutput) string {
	text := fmt.Sprintf("%s@%s (%.12s): %d cycles, the last took %s; %d strikes, %d fallbacks, circuit ",
		p.Name, p.Version, p.SHA256, p.Cycles, secondsText(p.LastCycleSeconds), p.Strikes, p.Fallbacks)
	if p.CircuitOpen {
		text += "OPEN"
	} else {
		text += "closed"
	}
	if p.LastFault != nil {
		text += "; last fault: " + *p.LastFault
	}
	return printable(text)
}

func secondsText(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}

// countsText writes how many are in each state: known states in their own order.
func countsText(counts map[string]uint32, order []string) string {
	states := make([]string, 0, len(counts))
	for state := range counts {
		states = append(states, state)
	}
	place := func(state string) int {
		if at := slices.Index(order, state); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortFunc(states, func(a, b string) int {
		if place(a) != place(b) {
			return place(a) - place(b)
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, state := range states {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func jobStateNames() []string {
	var names []string
	for s := core.JobPending; s.Known(); s++ {
		names = append(names, s.String())
	}
	return names
}

func nodeStateNames() []string {
	var names []string
	for _, s := range []core.NodeState{
		core.NodeIdle, core.NodeMixed, core.NodeAllocated, core.NodeDraining, core.NodeDrained, core.NodeDown,
	} {
		names = append(names, string(s))
	}
	return names
}
