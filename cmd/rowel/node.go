package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// nodeShowOutput is what node show --json prints.
type nodeShowOutput struct {
	Node        nodeOutput  `json:"node"`
	Jobs        []jobOutput `json:"jobs"` // that hold resources on it
	LoadAverage float64     `json:"load_average"`
	HeardAt     *time.Time  `json:"heard_at"` // null: not since the leader started
}

// nodeNamesOutput is what node drain and node resume print with --json.
type nodeNamesOutput struct {
	Nodes []string `json:"nodes"`
}

func nodeCommand(now clock) *cli.Command {
	return &cli.Command{
		Name:     "node",
		Category: categoryCluster,
		Usage:    "look at a node, take it out of service, put it back",
		Subcommands: []*cli.Command{
			{
				Name:      "show",
				Usage:     "print all that is known of a node",
				ArgsUsage: "NODE",
				Description: manual("Prints a node's record, as scontrol show node does, and the jobs on it.",
					"rowel node show n1", exitDone, exitRefused, exitUsage, exitUnavailable),
				Flags:  clientFlags(staleFlag(), jsonFlag()),
				Action: func(c *cli.Context) error { return nodeShow(c, now()) },
			},
			{
				Name:      "drain",
				Usage:     "take nodes out of service for new jobs",
				ArgsUsage: "NODE...",
				Description: manual("A drained node starts no new jobs; those on it run on. The reason is kept with your name and shown by rowel nodes.",
					`rowel node drain n1 n2 --reason "replacing the fan"`, exitDone, exitRefused, exitUsage, exitUnavailable),
				Flags: clientFlags(
					&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "`TEXT` why; required"},
					jsonFlag(),
				),
				Action: nodeDrain,
			},
			{
				Name:      "resume",
				Usage:     "put drained nodes back into service",
				ArgsUsage: "NODE...",
				Description: manual("Puts nodes back into service. A node that is down comes back by itself, once its agent answers.",
					"rowel node resume n1 n2", exitDone, exitRefused, exitUsage, exitUnavailable),
				Flags:  clientFlags(jsonFlag()),
				Action: nodeResume,
			},
		},
	}
}

func nodeShow(c *cli.Context, now time.Time) error {
	if err := wantArgs(c, 1, 1); err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	detail, err := client.Node(c.Context, c.Args().First(), c.Bool("stale"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, nodeShowOutput{
			Node: toNodeOutput(detail.Node), Jobs: toJobsOutput(detail.Jobs, now),
			LoadAverage: detail.LoadAverage, HeardAt: timeOrNull(detail.HeardAt),
		})
	}
	return writeNode(c.App.Writer, detail)
}

// writeNode prints a node in scontrol's form.
func writeNode(w io.Writer, detail *api.NodeDetail) error {
	n := detail.Node
	lines := []string{
		fmt.Sprintf("NodeName=%s State=%s", n.Name, n.State()),
		fmt.Sprintf("NodeAddr=%s Version=%s OS=%s", n.Address, n.Version, n.OS),
		fmt.Sprintf("CPUAlloc=%d CPUTot=%d CPULoad=%.2f", n.Allocated.CPUs, n.Capacity.CPUs, detail.LoadAverage),
		fmt.Sprintf("AllocMem=%s RealMemory=%s", memoryText(n.Allocated.MemoryMiB), memoryText(n.Capacity.MemoryMiB)),
		fmt.Sprintf("RegisterTime=%s LastHeard=%s", localTime(n.RegisteredAt), localTime(detail.HeardAt)),
	}
	if len(n.Labels) > 0 {
		lines = append(lines, "Labels="+labelsText(n.Labels))
	}
	if n.Down {
		lines = append(lines, fmt.Sprintf("DownReason=%s [%s]", n.DownReason, localTime(n.ChangedAt)))
	}
	if n.Drain {
		lines = append(lines, fmt.Sprintf("DrainReason=%s [%s@%s]", n.DrainReason, n.DrainedBy, localTime(n.ChangedAt)))
	}
	var jobs []string
	for _, j := range detail.Jobs {
		jobs = append(jobs, j.DisplayID())
	}
	lines = append(lines, "Jobs="+strings.Join(jobs, ","))
	for i, line := range lines {
		lines[i] = printable(line)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n   "))
	return err
}

func labelsText(labels map[string]string) string {
	var pairs []string
	for name, value := range labels {
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func nodeDrain(c *cli.Context) error {
	reason := strings.TrimSpace(c.String("reason"))
	if err := wantArgs(c, 1, -1); err != nil {
		return err
	}
	if reason == "" {
		return usageErrorf("%s: --reason is missing: say why, for whoever finds the node drained", commandName(c))
	}
	return changeNodes(c, func(client *api.Client, names []string) error {
		return client.Drain(c.Context, names, reason)
	})
}

func nodeResume(c *cli.Context) error {
	if err := wantArgs(c, 1, -1); err != nil {
		return err
	}
	return changeNodes(c, func(client *api.Client, names []string) error {
		return client.Resume(c.Context, names)
	})
}

// changeNodes makes a change to the nodes that the command line names.
func changeNodes(c *cli.Context, change func(*api.Client, []string) error) error {
	names := c.Args().Slice()
	for _, name := range names {
		if err := core.ValidateNodeName(name); err != nil {
			return usageErrorf("%s: %w", commandName(c), err)
		}
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := change(client, names); err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, nodeNamesOutput{names})
	}
	return nil
}
