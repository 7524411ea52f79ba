package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// manual makes the long text of a command's help: a paragraph, an example, and what its
// exit codes mean, "64 bad command line" a piece.
func manual(paragraph, example string, exits ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(paragraph))
	b.WriteString("\n\nEXAMPLE\n")
	for line := range strings.SplitSeq(strings.TrimSpace(example), "\n") {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	b.WriteString("\nEXIT STATUS\n")
	for _, exit := range exits {
		code, meaning, _ := strings.Cut(exit, " ")
		fmt.Fprintf(&b, "  %-4s %s\n", code, meaning)
	}
	return b.String()
}

// The exit codes that many commands share.
const (
	exitDone        = "0 done"
	exitRefused     = "1 refused: there is no such thing, or its state forbids it"
	exitUsage       = "64 bad command line"
	exitUnavailable = "69 no controller answered, or none can serve now"
)

func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "explain a command",
		ArgsUsage: "[COMMAND...]",
		Description: manual("Prints what a command is for, its options, an example and its exit codes; without a name, the list of commands.",
			"rowel help submit", exitDone, exitUsage),
		Action: func(c *cli.Context) error {
			line, err := parseCommandLine(c.App, append(c.Args().Slice(), "--help"))
			if err != nil {
				return err
			}
			if len(line.args) > 0 {
				return usageErrorf("%sno command %.80q", line.subject(), line.args[0])
			}
			return writeHelp(c.App.Writer, c.App, line.path)
		},
	}
}

// writeHelp prints help for the command that a path names, for the program if empty.
func writeHelp(w io.Writer, app *cli.App, path []*cli.Command) error {
	var b strings.Builder
	if len(path) == 0 {
		writeProgramHelp(&b, app)
	} else {
		writeCommandHelp(&b, path)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeProgramHelp(b *strings.Builder, app *cli.App) {
	fmt.Fprintf(b, "rowel - %s\n\nUSAGE\n  rowel COMMAND [options] [arguments]\n", app.Usage)
	titles := []struct{ category, title string }{
		{categoryJobs, "JOBS"}, {categoryCluster, "CLUSTER"}, {categoryDaemons, "DAEMONS"}, {"", "MORE"},
	}
	for _, t := range titles {
		var commands []*cli.Command
		for _, c := range app.Commands {
			known := c.Category == categoryJobs || c.Category == categoryCluster || c.Category == categoryDaemons
			if c.Category == t.category || t.category == "" && !known {
				commands = append(commands, c)
			}
		}
		if len(commands) > 0 {
			fmt.Fprintf(b, "\n%s\n", t.title)
			writeCommandList(b, commands)
		}
	}
	b.WriteString("\nOPTIONS FOR MOST COMMANDS\n")
	writeFlags(b, app.Flags)
	b.WriteString("\nType \"rowel COMMAND --help\" for more about one.\n")
}

// The headings under which the program's help lists commands.
const (
	categoryJobs    = "jobs"
	categoryCluster = "cluster"
	categoryDaemons = "daemons"
)

func writeCommandHelp(b *strings.Builder, path []*cli.Command) {
	c := path[len(path)-1]
	name := (&commandLine{path: path}).name()
	fmt.Fprintf(b, "%s - %s\n\nUSAGE\n", name, c.Usage)
	if len(c.Subcommands) > 0 {
		fmt.Fprintf(b, "  %s COMMAND [options] [arguments]\n\nCOMMANDS\n", name)
		writeCommandList(b, c.Subcommands)
		return
	}
	usages := c.UsageText
	if usages == "" {
		usages = strings.TrimSpace(name + " [options] " + c.ArgsUsage)
	}
	for usage := range strings.SplitSeq(usages, "\n") {
		fmt.Fprintf(b, "  %s\n", usage)
	}
	if c.Description != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Description))
	}
	if len(c.Flags) > 0 {
		b.WriteString("\nOPTIONS\n")
		writeFlags(b, c.Flags)
	}
}

func writeCommandList(b *strings.Builder, commands []*cli.Command) {
	for _, c := range commands {
		if !c.Hidden {
			fmt.Fprintf(b, "  %-12s %s\n", c.Name, c.Usage)
		}
	}
}

func writeFlags(b *strings.Builder, flags []cli.Flag) {
	for _, f := range flags {
		documented, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		names := f.Names()
		metavar, usage := splitMetavar(documented.GetUsage())
		short := "    "
		if len(names) > 1 && len(names[1]) == 1 {
			short = "-" + names[1] + ", "
		}
		text := short + "--" + names[0]
		if optional, ok := f.(*optionalValueFlag); ok && optional.bare != "" {
			text += "[=" + metavar + "]"
		} else if documented.TakesValue() {
			text += " " + metavar
		}
		fmt.Fprintf(b, "  %-28s %s\n", text, usage)
	}
}

// splitMetavar finds the name of a flag's value between backquotes. It leaves the usage
// when it stands in front, and is a word of it elsewhere.
func splitMetavar(usage string) (metavar, rest string) {
	before, after, ok := strings.Cut(usage, "`")
	name, tail, closed := strings.Cut(after, "`")
	switch {
	case !ok || !closed:
		return "VALUE", usage
	case before == "":
		return name, strings.TrimSpace(tail)
	}
	return name, before + name + tail
}
