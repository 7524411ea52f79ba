// Command rowel is the one binary of Rowel: the command line for users and operators,
// and the daemons (controller, agent, dev) that the same binary runs.
//
// A file holds a noun: its command, its call and how its answer is printed. The client
// is core/api's; what a job asks for is core's. Nothing here decides anything about a
// cluster.
package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run does what a command line says and returns the exit code of the process.
func run(words []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runAt(time.Now, words, stdin, stdout, stderr)
}

// runAt is run by a clock.
func runAt(now clock, words []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(now)
	app.Reader, app.Writer, app.ErrWriter = stdin, stdout, stderr
	line, err := parseCommandLine(app, words[1:])
	if err != nil {
		return report(stderr, err)
	}
	if line.help {
		return report(stderr, writeHelp(stdout, app, line.path))
	}
	return report(stderr, app.RunContext(context.Background(), line.words(app.Name)))
}

// newApp returns every command. Parsing, help, errors and exit codes are ours; urfave/cli
// keeps the tree of commands and the values of their flags.
func newApp(now clock) *cli.App {
	app := &cli.App{
		Name:        "rowel",
		Usage:       "run batch jobs on a cluster whose decisions are plugins",
		HideHelp:    true,
		HideVersion: true,
		Flags:       []cli.Flag{addressFlag(), patienceFlag(), jsonFlag()},
		Commands: []*cli.Command{
			submitCommand(), runCommand(), queueCommand(now), jobCommand(now), cancelCommand(), logsCommand(),
			waitCommand(now), historyCommand(now),
			nodesCommand(), nodeCommand(now), statusCommand(),
			devCommand(), controllerCommand(), agentCommand(), configCommand(),
			completionCommand(), completeCommand(), versionCommand(), helpCommand(),
		},
		ExitErrHandler: func(*cli.Context, error) {}, // run reports
	}
	for _, c := range app.Commands {
		finish(c)
	}
	return app
}

// finish gives a command, and those below it, what all have in common.
func finish(c *cli.Command) {
	c.HideHelp = true
	c.OnUsageError = func(c *cli.Context, err error, _ bool) error {
		return usageErrorf("%s: %w", commandName(c), err)
	}
	for _, sub := range c.Subcommands {
		finish(sub)
	}
}

// commandName returns the command that runs, as errors name it: "node drain".
func commandName(c *cli.Context) string {
	return strings.TrimPrefix(c.Command.HelpName, "rowel ")
}

// wantArgs refuses a command line with fewer or more arguments than a command has; most
// below zero means any number.
func wantArgs(c *cli.Context, least, most int) error {
	switch n := c.NArg(); {
	case n < least:
		return usageErrorf("%s: %s is missing. Type \"rowel %[1]s --help\" for an example", commandName(c), c.Command.ArgsUsage)
	case most >= 0 && n > most:
		return usageErrorf("%s: %.80q is one argument too many", commandName(c), c.Args().Get(most))
	}
	return nil
}
