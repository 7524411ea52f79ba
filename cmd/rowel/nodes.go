package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
)

// nodesOutput is what nodes --json prints.
type nodesOutput struct {
	Nodes []nodeOutput `json:"nodes"`
}

func nodesCommand() *cli.Command {
	return &cli.Command{
		Name:     "nodes",
		Aliases:  []string{"sinfo"},
		Category: categoryCluster,
		Usage:    "list the cluster's nodes",
		Description: manual("Lists nodes by name: state, CPUs (allocated/idle/total), memory (allocated/total), jobs, and why a node is down or drained.",
			`rowel nodes
			rowel nodes --json`, exitDone, exitUsage, exitUnavailable),
		Flags:  clientFlags(noHeaderFlag(), staleFlag(), jsonFlag()),
		Action: nodes,
	}
}

func nodes(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.Nodes(c.Context, c.Bool("stale"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		output := nodesOutput{Nodes: []nodeOutput{}}
		for _, n := range list {
			output.Nodes = append(output.Nodes, toNodeOutput(n))
		}
		return writeJSON(c.App.Writer, output)
	}
	return writeNodes(c.App.Writer, list, !c.Bool("noheader"))
}

func writeNodes(w io.Writer, list []*core.Node, header bool) error {
	t := table{columns: []column{
		left("NODELIST"), left("STATE"), right("CPUS(A/I/T)"), right("MEMORY(A/T)"), right("JOBS"), left("REASON"),
	}}
	for _, n := range list {
		t.add(n.Name, string(n.State()),
			fmt.Sprintf("%d/%d/%d", n.Allocated.CPUs, n.Free().CPUs, n.Capacity.CPUs),
			memoryText(n.Allocated.MemoryMiB)+"/"+memoryText(n.Capacity.MemoryMiB),
			strconv.FormatUint(uint64(n.Jobs), 10), nodeReason(n))
	}
	return t.write(w, header)
}

// nodeReason says why a node takes no jobs: what it is down for counts first.
func nodeReason(n *core.Node) string {
	if n.Down {
		return cmp.Or(n.DownReason, n.DrainReason)
	}
	return n.DrainReason
}
