package main

import (
	"context"
	"io"
	"os/signal"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/config"
)

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"f"}, Usage: "`FILE` the configuration; config.hcl.example has every key"}
}

// loadConfig reads the file of --config, or takes the defaults without one, and checks
// it for a role. Every problem of it ends with exit 78.
func loadConfig(c *cli.Context, check func(*config.Config) error) (*config.Config, error) {
	loaded := config.Default()
	if path := c.String("config"); path != "" {
		var err error
		if loaded, err = config.Load(path); err != nil {
			return nil, badConfig(err)
		}
	}
	if err := check(loaded); err != nil {
		return nil, badConfig(err)
	}
	return loaded, nil
}

func badConfig(err error) error { return &exitError{code: core.ExitBadConfig, err: err} }

// newLogger returns what a daemon logs to.
func newLogger(c *config.Config, to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Level:      hclog.LevelFromString(c.Log.Level),
		JSONFormat: c.Log.Format == "json",
		Output:     to,
	})
}

// untilStopped returns a context that ends when the process is asked to stop. A second
// request is no urgency: see supervisor.Guard.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
}
