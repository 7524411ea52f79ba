package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// cancelOutput is what cancel --json prints.
type cancelOutput struct {
	Results []cancelResult `json:"results"`
}

type cancelResult struct {
	Job   string  `json:"job"`   // as in "7" or "7_3"
	Error *string `json:"error"` // null: accepted
}

func cancelCommand() *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Aliases:   []string{"scancel"},
		Category:  categoryJobs,
		Usage:     "cancel jobs",
		ArgsUsage: "[JOB...]",
		Description: manual(`Ends jobs: pending ones at once, running ones with SIGTERM and, after a while, SIGKILL. Jobs are named by
number (7), element (7_3) or elements (7_[1-3]), or picked by user, state and name. One that is over already is no error.`,
			`rowel cancel 7 8_3
			rowel cancel -u alice -t PENDING`, "0 every job is cancelled or over",
			"1 at least one could not be cancelled; the others are", exitUsage, exitUnavailable),
		Flags: clientFlags(
			&cli.StringSliceFlag{Name: "user", Aliases: []string{"u"}, Usage: "`NAMES` jobs of these users"},
			&cli.BoolFlag{Name: "me", Usage: "your own jobs"},
			&cli.StringSliceFlag{Name: "state", Aliases: []string{"t", "states"}, Usage: "`STATES` jobs in these states"},
			&cli.StringSliceFlag{Name: "name", Aliases: []string{"n"}, Usage: "`NAMES` jobs with these names"},
			jsonFlag(),
		),
		Action: cancel,
	}
}

func cancel(c *cli.Context) error {
	refs, err := parseRefs(c.Args().Slice())
	if err != nil {
		return err
	}
	filtered := c.IsSet("user") || c.Bool("me") || c.IsSet("state") || c.IsSet("name")
	if !filtered && len(refs) == 0 {
		return usageErrorf("%s: name jobs by number, or pick them with --user, --me, --state or --name", commandName(c))
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if filtered {
		if refs, err = pickJobs(c, client, refs); err != nil {
			return err
		}
	}
	outcomes, err := cancelAll(c.Context, client, refs)
	if err != nil {
		return err
	}
	output := cancelOutput{Results: []cancelResult{}}
	failed := false
	for i, ref := range refs {
		result := cancelResult{Job: refText(ref)}
		if outcomes[i] != nil {
			failed = true
			text := outcomes[i].Error()
			result.Error = &text
			warn(c.App.ErrWriter, text)
		}
		output.Results = append(output.Results, result)
	}
	if c.Bool("json") {
		if err := writeJSON(c.App.Writer, output); err != nil {
			return err
		}
	}
	if failed {
		return exitWith(core.ExitFailure)
	}
	return nil
}

// cancelBatch bounds the references in one request.
const cancelBatch = 10_000

func cancelAll(ctx context.Context, client *api.Client, refs []core.JobRef) ([]error, error) {
	var outcomes []error
	for batch := range slices.Chunk(refs, cancelBatch) {
		some, err := client.Cancel(ctx, batch)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, some...)
	}
	return outcomes, nil
}

// pickJobs returns the jobs that pass the filters, among the given ones if there are any.
// Of an array it picks the elements in the states asked for, never more.
func pickJobs(c *cli.Context, client *api.Client, among []core.JobRef) ([]core.JobRef, error) {
	states, err := parseStates(c.StringSlice("state"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"user", "state", "name"} {
		// An empty variable in somebody's script must not stand for every job.
		if c.IsSet(name) && len(splitList(strings.Join(c.StringSlice(name), ","))) == 0 {
			return nil, usageErrorf("%s: --user, --state and --name need values", commandName(c))
		}
	}
	filter := api.JobFilter{Users: c.StringSlice("user"), States: states}
	if c.Bool("me") {
		filter.Users = append(filter.Users, userName())
	}
	for _, ref := range among {
		if ref.Index != nil {
			return nil, usageErrorf("%s: elements such as %s cannot be combined with filters", commandName(c), refText(ref))
		}
		filter.IDs = append(filter.IDs, ref.ID)
	}
	jobs, err := client.Jobs(c.Context, filter)
	if err != nil {
		return nil, err
	}
	names := c.StringSlice("name")
	var refs []core.JobRef
	for _, j := range jobs {
		if j.State.Terminal() || len(names) > 0 && !slices.Contains(names, j.Spec.Name) {
			continue
		}
		if !j.ArrayMaster() {
			refs = append(refs, refOf(j))
			continue
		}
		for index := range indices(j.ArrayPending) {
			element := index
			refs = append(refs, core.JobRef{ID: j.ArrayID, Index: &element})
		}
	}
	return refs, nil
}
