package main

import (
	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/agent"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/config"
)

func agentCommand() *cli.Command {
	return &cli.Command{
		Name:     "agent",
		Category: categoryDaemons,
		Usage:    "run jobs on this machine",
		Description: manual(`Registers this machine as a node and runs the jobs that the controller gives it. Stays in the
foreground and logs to standard error. Jobs go on while no controller answers. SIGTERM ends them, and it.`,
			`rowel agent --config /etc/rowel/config.hcl`,
			"0 it was asked to stop", exitUsage, "69 something that it needs is not there",
			"73 the spool directory cannot be made or is in use", "78 the configuration is wrong"),
		Flags:  []cli.Flag{configFlag()},
		Action: runAgent,
	}
}

func runAgent(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	loaded, err := loadConfig(c, (*config.Config).CheckAgent)
	if err != nil {
		return err
	}
	ctx, stop := untilStopped(c.Context)
	defer stop()
	node, err := newAgent(loaded, loaded.Agent.Controllers, newLogger(loaded, c.App.ErrWriter))
	if err != nil {
		return agentError(err)
	}
	return node.Run(ctx)
}

// newAgent returns the agent that a configuration describes.
func newAgent(c *config.Config, controllers []string, logger hclog.Logger) (*agent.Agent, error) {
	return agent.New(agent.Config{
		NodeName:    c.Name,
		Controllers: controllers,
		Labels:      c.Agent.Labels,
		SpoolDir:    c.Spool(),
		Capacity:    core.Resources{CPUs: uint32(c.Agent.CPUs), MemoryMiB: uint64(c.Agent.Memory / config.MiB)},
		KillWait:    c.Agent.KillWait,
		Version:     version,
	}, api.DialAgent, logger.Named("agent"))
}

// agentError gives what kept an agent from starting its exit code.
func agentError(err error) error {
	if core.KindOf(err) == core.Invalid {
		return badConfig(err)
	}
	return &exitError{code: core.ExitCannotOpen, err: err}
}
