package main

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"
)

// versionOutput is what version --json prints.
type versionOutput struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of this binary",
		Description: manual("Prints the version, and with what and for what it was built. Asks no controller.", "rowel version --json", exitDone, exitUsage),
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			output := versionOutput{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if c.Bool("json") {
				return writeJSON(c.App.Writer, output)
			}
			_, err := fmt.Fprintf(c.App.Writer, "rowel %s (%s, %s)\n", output.Version, output.Go, output.Platform)
			return err
		},
	}
}
