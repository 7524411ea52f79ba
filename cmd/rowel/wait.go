package main

import (
	"github.com/urfave/cli/v2"
)

func waitCommand(now clock) *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Category:  categoryJobs,
		Usage:     "wait until jobs are over and exit as they did",
		ArgsUsage: "JOB...",
		Description: manual("Prints nothing on standard output unless asked to with --json. Arrays are waited for whole.",
			`rowel wait 7 && echo it worked`,
			"0 every job is COMPLETED", "N the highest exit code of the jobs; 128+signal if a signal ended one",
			"1 there is no such job, or one ended otherwise (TIMEOUT, CANCELLED, ...), which is said on standard error",
			exitUsage, exitUnavailable),
		Flags: clientFlags(jsonFlag()),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, -1); err != nil {
				return err
			}
			refs, err := parseRefs(c.Args().Slice())
			if err != nil {
				return err
			}
			client, err := newClient(c)
			if err != nil {
				return err
			}
			defer client.Close()
			jobs, err := waitAll(c.Context, client, refs)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := writeJSON(c.App.Writer, jobsOutput{toJobsOutput(jobs, now())}); err != nil {
					return err
				}
			}
			return exitAs(jobs, c.App.ErrWriter)
		},
	}
}
