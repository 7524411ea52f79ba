package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/config"
)

// configCheckOutput is what config check --json prints.
type configCheckOutput struct {
	File     string          `json:"file"`
	Valid    bool            `json:"valid"`
	Problems []configProblem `json:"problems"`
}

type configProblem struct {
	Line   int    `json:"line"`   // from 1; 0: not in the file
	Column int    `json:"column"` // from 1
	Key    string `json:"key"`    // dotted; empty for a syntax error
	Text   string `json:"text"`
}

func configCommand() *cli.Command {
	return &cli.Command{
		Name:     "config",
		Category: categoryDaemons,
		Usage:    "work with configuration files",
		Subcommands: []*cli.Command{{
			Name:      "check",
			Usage:     "check a configuration file",
			ArgsUsage: "FILE",
			Description: manual(`Reads the file as the daemons do and prints every problem with its line and column. With --role it also
checks what only that daemon needs. Nothing is started.`,
				`rowel config check /etc/rowel/config.hcl
				rowel config check --role controller config.hcl`,
				"0 the file is good", exitUsage, "78 it is not, or cannot be read"),
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "role", Usage: "`controller|agent` check for this daemon too"},
				jsonFlag(),
			},
			Action: configCheck,
		}},
	}
}

func configCheck(c *cli.Context) error {
	if err := wantArgs(c, 1, 1); err != nil {
		return err
	}
	role := c.String("role")
	if !slices.Contains([]string{"", "controller", "agent"}, role) {
		return usageErrorf("%s: --role is controller or agent, not %.80q", commandName(c), role)
	}
	file := c.Args().First()
	err := checkConfig(file, role)
	if c.Bool("json") {
		if err := writeJSON(c.App.Writer, toConfigCheckOutput(file, err)); err != nil {
			return err
		}
	} else if err == nil {
		if _, err := fmt.Fprintf(c.App.Writer, "%s: ok\n", file); err != nil {
			return err
		}
	}
	if err != nil {
		return &exitError{code: core.ExitBadConfig, err: err}
	}
	return nil
}

func checkConfig(file, role string) error {
	loaded, err := config.Load(file)
	switch {
	case err != nil:
		return err
	case role == "controller":
		return loaded.CheckController()
	case role == "agent":
		return loaded.CheckAgent()
	}
	return nil
}

func toConfigCheckOutput(file string, err error) configCheckOutput {
	output := configCheckOutput{File: file, Valid: err == nil, Problems: []configProblem{}}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			output.Problems = append(output.Problems, configProblem{p.Line, p.Column, p.Key, p.Text})
		}
	case err != nil:
		output.Problems = append(output.Problems, configProblem{Text: err.Error()})
	}
	return output
}
