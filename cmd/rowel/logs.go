package main

import (
	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core/wire"
)

func logsCommand() *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Category:  categoryJobs,
		Usage:     "print a job's output",
		ArgsUsage: "JOB",
		Description: manual(`Prints what a job has written, its standard output and error to ours. With --follow it goes on until the
job is over, also across a change of leader.`,
			`rowel logs 7
			rowel logs -f 12_3`, exitDone, exitRefused, exitUsage, exitUnavailable),
		Flags: clientFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the job is over"},
			&cli.StringFlag{Name: "stream", Usage: "`stdout|stderr` only this one"},
		),
		Action: logs,
	}
}

func logs(c *cli.Context) error {
	if err := wantArgs(c, 1, 1); err != nil {
		return err
	}
	ref, err := parseRef(c.Args().First())
	if err != nil {
		return err
	}
	stream, ok := map[string]wire.OutputStream{
		"":       wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED,
		"stdout": wire.OutputStream_OUTPUT_STREAM_STDOUT,
		"stderr": wire.OutputStream_OUTPUT_STREAM_STDERR,
	}[c.String("stream")]
	if !ok {
		return usageErrorf("%s: --stream is stdout or stderr, not %.80q", commandName(c), c.String("stream"))
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	show := &attachment{stdout: c.App.Writer, stderr: c.App.ErrWriter}
	return client.Logs(c.Context, ref, stream, c.Bool("follow"), show.show)
}
