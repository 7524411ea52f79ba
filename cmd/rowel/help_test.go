package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// commandsThatRun are all commands with nothing below them that help lists.
func commandsThatRun(commands []*cli.Command) []*cli.Command {
	var found []*cli.Command
	for _, c := range commands {
		switch {
		case c.Hidden:
		case len(c.Subcommands) > 0:
			found = append(found, commandsThatRun(c.Subcommands)...)
		default:
			found = append(found, c)
		}
	}
	return found
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commandsThatRun(newApp(nil).Commands) {
		if c.Usage == "" || strings.HasSuffix(c.Usage, ".") || strings.ToLower(c.Usage[:1]) != c.Usage[:1] {
			t.Errorf("%s: usage %q is not an imperative line", c.Name, c.Usage)
		}
		for _, part := range []string{"\n\nEXAMPLE\n  rowel ", "\n\nEXIT STATUS\n"} {
			if !strings.Contains(strings.Replace(c.Description, `eval "$(rowel`, "rowel", 1), part) {
				t.Errorf("%s: no %q in its description", c.Name, strings.TrimSpace(part))
			}
		}
	}
}

func TestEveryCommandKnowsItsFlagsByOneName(t *testing.T) {
	for _, c := range commandsThatRun(newApp(nil).Commands) {
		seen := map[string]bool{}
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				if seen[name] || name == "help" {
					t.Errorf("%s: flag %q is defined twice", c.Name, name)
				}
				seen[name] = true
			}
		}
	}
}
