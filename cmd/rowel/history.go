package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// historyOutput is what history --json prints.
type historyOutput struct {
	Jobs      []jobOutput `json:"jobs"`      // newest first
	Truncated bool        `json:"truncated"` // --limit cut some off
}

func historyCommand(now clock) *cli.Command {
	return &cli.Command{
		Name:     "history",
		Aliases:  []string{"sacct"},
		Category: categoryJobs,
		Usage:    "list jobs of the past and present",
		Description: manual(`Lists jobs, newest first, live ones included. ExitCode is the job's exit code and the signal that ended it.
Times are 2006-01-02, 2006-01-02T15:04:05, 15:04, today or now-2hours.`,
			`rowel history -S today -u alice
			rowel history -s FAILED,TIMEOUT -n 20 --json`, exitDone, exitUsage, exitUnavailable),
		Flags: clientFlags(
			&cli.StringSliceFlag{Name: "jobs", Aliases: []string{"j", "job"}, Usage: "`NUMBERS` only these jobs"},
			&cli.StringSliceFlag{Name: "user", Aliases: []string{"u"}, Usage: "`NAMES` only jobs of these users"},
			&cli.StringSliceFlag{Name: "states", Aliases: []string{"s", "state"}, Usage: "`STATES` only jobs in these states, names or codes"},
			&cli.StringFlag{Name: "starttime", Aliases: []string{"S"}, Usage: "`TIME` only jobs that ended, or still ran, at or after it"},
			&cli.StringFlag{Name: "endtime", Aliases: []string{"E"}, Usage: "`TIME` only jobs that started before it"},
			&cli.UintFlag{Name: "limit", Aliases: []string{"n"}, Value: defaultHistoryLimit, Usage: "`N` at most so many, the newest"},
			&cli.BoolFlag{Name: "noheader", Usage: "print no header"},
			staleFlag(), jsonFlag(),
		),
		Action: func(c *cli.Context) error { return history(c, now()) },
	}
}

// defaultHistoryLimit is how many jobs are listed unless told otherwise.
const defaultHistoryLimit = 1000

func history(c *cli.Context, now time.Time) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	filter, err := historyFilter(c, now)
	if err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	jobs, truncated, err := client.History(c.Context, filter)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, historyOutput{toJobsOutput(jobs, now), truncated})
	}
	if err := writeHistory(c.App.Writer, jobs, now, !c.Bool("noheader")); err != nil {
		return err
	}
	if truncated {
		warn(c.App.ErrWriter, fmt.Sprintf("there are more than %d: narrow the list, or raise --limit", filter.Limit))
	}
	return nil
}

func historyFilter(c *cli.Context, now time.Time) (api.HistoryFilter, error) {
	filter := api.HistoryFilter{Users: c.StringSlice("user"), Limit: int(min(c.Uint("limit"), 1<<20)), Stale: c.Bool("stale")}
	if filter.Limit == 0 {
		return filter, usageErrorf("%s: --limit must be at least 1", commandName(c))
	}
	var err error
	if filter.IDs, err = parseIDs(c.StringSlice("jobs")); err != nil {
		return filter, err
	}
	if filter.States, err = parseStates(c.StringSlice("states")); err != nil {
		return filter, err
	}
	for name, point := range map[string]*time.Time{"starttime": &filter.Since, "endtime": &filter.Until} {
		if !c.IsSet(name) {
			continue
		}
		if *point, err = parsePoint(c.String(name), now); err != nil {
			return filter, usageErrorf("%s: --%s: %w", commandName(c), name, err)
		}
	}
	return filter, nil
}

func writeHistory(w io.Writer, jobs []*core.Job, now time.Time, header bool) error {
	t := table{columns: []column{
		left("JobID"), left("JobName"), left("User"), left("Partition"), left("State"), right("ExitCode"),
		right("Elapsed"), left("Start"), left("End"), left("NodeList"),
	}}
	for _, j := range jobs {
		where := nodeList(placementNodes(j))
		if where == "" {
			where = "None assigned"
		}
		t.add(j.DisplayID(), j.Spec.Name, j.Spec.User, j.Spec.Partition, j.State.String(),
			fmt.Sprintf("%d:%d", j.ExitCode, j.Signal), longDuration(elapsed(j, now)),
			localTime(j.StartedAt), localTime(j.EndedAt), where)
	}
	return t.write(w, header)
}
