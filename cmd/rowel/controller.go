package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/config"
	"github.com/rowelhq/rowel/core/controller"
	"github.com/rowelhq/rowel/core/supervisor"
)

func controllerCommand() *cli.Command {
	return &cli.Command{
		Name:     "controller",
		Category: categoryDaemons,
		Usage:    "run one replica of the controller",
		Description: manual(`Keeps the cluster's state, schedules jobs while it leads, and serves the API. Stays in the
foreground and logs to standard error. SIGTERM makes it unready, hands leadership over and stops it.`,
			`rowel controller --config /etc/rowel/config.hcl`,
			"0 it was asked to stop", exitUsage, "69 a port is taken, or something else it needs is not there",
			"70 its core died: restart it", "73 the data directory cannot be made or is locked", "78 the configuration is wrong"),
		Flags:  []cli.Flag{configFlag()},
		Action: runController,
	}
}

func runController(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	loaded, err := loadConfig(c, (*config.Config).CheckController)
	if err != nil {
		return err
	}
	logger := newLogger(loaded, c.App.ErrWriter)
	// The guard is a parent that turns a crash nobody can recover into exit 70.
	guarded, err := supervisor.Guard(logger, core.ExitCoreDied)
	if guarded.IsParent || err != nil {
		return errors.Join(err, exitWith(guarded.Code))
	}
	ctx, stop := untilStopped(c.Context)
	defer stop()
	replica, err := controller.New(ctx, loaded, version, logger)
	if err != nil {
		return startError(err)
	}
	defer replica.Close()
	replica.Exit = guarded.Exit
	return replica.Run(ctx)
}

// startError gives what kept a controller from starting its exit code.
func startError(err error) error {
	switch {
	case errors.Is(err, controller.ErrCannotOpen):
		return &exitError{code: core.ExitCannotOpen, err: err}
	case core.KindOf(err) == core.Invalid:
		return badConfig(err)
	}
	return err
}
