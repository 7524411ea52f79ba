package main

import (
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

func queueCommand(now clock) *cli.Command {
	return &cli.Command{
		Name:     "queue",
		Aliases:  []string{"squeue"},
		Category: categoryJobs,
		Usage:    "list jobs that wait or run",
		Description: manual("Lists jobs, running ones first, then pending ones by priority. A pending job shows why it waits.",
			`rowel queue --me
			rowel queue -t PD,R --json`, exitDone, exitUsage, exitUnavailable),
		Flags: clientFlags(
			&cli.StringSliceFlag{Name: "user", Aliases: []string{"u"}, Usage: "`NAMES` only jobs of these users"},
			&cli.BoolFlag{Name: "me", Usage: "only your own jobs"},
			&cli.StringSliceFlag{Name: "states", Aliases: []string{"t", "state"}, Usage: "`STATES` only jobs in these states, names or codes, or all"},
			&cli.StringSliceFlag{Name: "jobs", Aliases: []string{"j", "job"}, Usage: "`NUMBERS` only these jobs"},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also jobs that are over and still kept"},
			noHeaderFlag(), staleFlag(), jsonFlag(),
		),
		Action: func(c *cli.Context) error { return queue(c, now()) },
	}
}

func noHeaderFlag() cli.Flag {
	return &privateAliasFlag{&cli.BoolFlag{Name: "noheader", Usage: "print no header"}, "h"}
}

func queue(c *cli.Context, now time.Time) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	ids, err := parseIDs(c.StringSlice("jobs"))
	if err != nil {
		return err
	}
	states, err := parseStates(c.StringSlice("states"))
	if err != nil {
		return err
	}
	filter := api.JobFilter{IDs: ids, Users: c.StringSlice("user"), States: states, All: c.Bool("all"), Stale: c.Bool("stale")}
	if c.Bool("me") {
		filter.Users = append(filter.Users, userName())
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	jobs, err := client.Jobs(c.Context, filter)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, jobsOutput{toJobsOutput(jobs, now)})
	}
	return writeQueue(c.App.Writer, jobs, now, !c.Bool("noheader"))
}

func writeQueue(w io.Writer, jobs []*core.Job, now time.Time, header bool) error {
	t := table{columns: []column{
		right("JOBID"), left("PARTITION"), left("NAME"), left("USER"), left("ST"), right("TIME"), right("NODES"), left("NODELIST(REASON)"),
	}}
	for _, j := range jobs {
		t.add(j.DisplayID(), j.Spec.Partition, j.Spec.Name, j.Spec.User, j.State.Code(),
			shortDuration(elapsed(j, now)), strconv.FormatUint(uint64(j.Spec.Nodes), 10), nodesOrReason(j))
	}
	return t.write(w, header)
}

// nodesOrReason returns where a job runs or, in parentheses, why it does not.
func nodesOrReason(j *core.Job) string {
	if j.State == core.JobPending || len(j.Placements) == 0 {
		return "(" + j.Reason.String() + ")"
	}
	return nodeList(placementNodes(j))
}

func placementNodes(j *core.Job) []string {
	names := make([]string, len(j.Placements))
	for i, p := range j.Placements {
		names[i] = p.Node
	}
	return names
}
