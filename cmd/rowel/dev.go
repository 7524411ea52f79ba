package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/config"
	"github.com/rowelhq/rowel/core/controller"
)

// defaultDevPort is the API's port; Raft, metrics and probes are at their usual distance
// above it.
const defaultDevPort = 6817

func devCommand() *cli.Command {
	return &cli.Command{
		Name:      "dev",
		Category:  categoryDaemons,
		Usage:     "run a whole cluster in this process",
		ArgsUsage: "[-- COMMAND [arguments]]",
		Description: manual(`Runs a controller and an agent on the loopback interface, with data in a temporary directory.
With a command it runs that as a job, shows its output and what decided about it, and exits as it did.
Without one it stays up until it is interrupted.`,
			`rowel dev
			rowel dev --port 0 -- examples/hello.sh`,
			"N the command's own exit code; 128+signal if a signal ended it", "0 without a command: it was interrupted", exitUsage,
			"69 a port is taken", "70 the core died", "73 the data directory cannot be made or is locked", "78 the configuration is wrong"),
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "data", Usage: "`DIR` keep the data here; default: a temporary directory, removed at the end"},
			&cli.IntFlag{Name: "port", Value: defaultDevPort, Usage: "`N` the API's port; Raft N+4, metrics N+5, probes N+6; 0: free ports"},
		},
		Action: runDev,
	}
}

func runDev(c *cli.Context) error {
	loaded, err := loadConfig(c, func(*config.Config) error { return nil })
	if err != nil {
		return err
	}
	if err := onLoopback(loaded, c.Int("port")); err != nil {
		return usageErrorf("dev: %w", err)
	}
	argv := c.Args().Slice()
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	switch {
	case c.IsSet("data"):
		if loaded.DataDir, err = filepath.Abs(c.String("data")); err != nil {
			return usageErrorf("--data: %w", err)
		}
	default:
		if loaded.DataDir, err = os.MkdirTemp("", "rowel-dev-"); err != nil {
			return &exitError{code: core.ExitCannotOpen, err: err}
		}
		defer os.RemoveAll(loaded.DataDir)
	}
	if len(argv) > 0 && !c.IsSet("config") {
		loaded.Log.Level = "error" // the output is the job's
	}
	return devCluster(c, loaded, argv)
}

// onLoopback keeps whatever the configuration says on this machine.
func onLoopback(c *config.Config, port int) error {
	if port < 0 || port > 65535-6 {
		return fmt.Errorf("--port %d is not a port that leaves room for six more", port)
	}
	at := func(distance int) string {
		if port == 0 {
			return "127.0.0.1:0"
		}
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+distance))
	}
	c.API = config.API{Listen: at(0)}
	c.Raft.Listen, c.Raft.Advertise, c.Raft.Peers, c.Raft.BootstrapExpect = at(4), "", nil, 0
	c.Metrics.Listen, c.Probes.Listen = at(5), at(6)
	c.Insecure = false
	return nil
}

// devCluster runs controller and agent until the command's job is over or somebody
// interrupts.
func devCluster(c *cli.Context, loaded *config.Config, argv []string) error {
	// With a command, an interrupt is for its job: see follow.
	ctx, stop := context.WithCancel(c.Context)
	if len(argv) == 0 {
		ctx, stop = untilStopped(c.Context)
	}
	defer stop()
	logger := newLogger(loaded, c.App.ErrWriter)
	replica, err := controller.New(ctx, loaded, version, logger)
	if err != nil {
		return startError(err)
	}
	defer replica.Close()
	address := "unix:" + replica.SocketPath()
	node, err := newAgent(loaded, []string{address}, logger)
	if err != nil {
		return agentError(err)
	}
	client, err := api.NewClient([]string{address}, api.DefaultPatience)
	if err != nil {
		return err
	}
	defer client.Close()

	// The agent stops first, while there is a controller to report to.
	serve, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var group errgroup.Group
	group.Go(func() error {
		defer stop()
		return replica.Run(serve)
	})
	group.Go(func() error {
		defer stopServing()
		defer stop()
		return node.Run(ctx)
	})
	err = devUse(ctx, c, client, loaded, argv)
	stop()
	return errors.Join(err, group.Wait())
}

// devUse runs the command, or says how to use the cluster and waits for its end.
func devUse(ctx context.Context, c *cli.Context, client *api.Client, loaded *config.Config, argv []string) error {
	if err := untilNodeUp(ctx, client, loaded.Name); err != nil {
		return err
	}
	if len(argv) == 0 {
		announceDev(c.App.Writer, loaded)
		<-ctx.Done()
		return nil
	}
	payload, err := commandPayload(c, argv)
	if err != nil {
		return err
	}
	r := newRequest()
	r.spec.Name = filepath.Base(argv[0])
	job, err := r.submission(payload, c.App.ErrWriter)
	if err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, unix.SIGINT, unix.SIGTERM)
	defer signal.Stop(interrupts)
	err = follow(ctx, client, job, &attachment{
		stdout: c.App.Writer, stderr: c.App.ErrWriter, interrupts: interrupts, quiet: time.Second,
	})
	explainRun(ctx, client, c.App.ErrWriter)
	return err
}

// untilNodeUp waits until the agent has registered.
func untilNodeUp(ctx context.Context, client *api.Client, name string) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := client.Node(ctx, name, false); core.KindOf(err) != core.NotFound {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil // whoever stopped it says why
		}
	}
}

func announceDev(to io.Writer, loaded *config.Config) {
	fmt.Fprintf(to, `A cluster of one is up: node %s, data in %s.
In another terminal:

  export ROWEL_ADDR=unix:%s
  rowel run -- hostname
  rowel submit examples/hello.sh
  rowel queue
  rowel status

Ctrl-C ends it.
`, loaded.Name, loaded.DataDir, filepath.Join(loaded.DataDir, controller.SocketName))
}

// explainRun says what became of the last job and who decided it.
func explainRun(ctx context.Context, client *api.Client, to io.Writer) {
	jobs, _, err := client.History(ctx, api.HistoryFilter{Limit: 1})
	if err != nil || len(jobs) == 0 || len(jobs[0].Placements) == 0 {
		return // the job's own error has been told
	}
	status, err := client.Status(ctx)
	if err != nil {
		return
	}
	job := jobs[0]
	var nodes []string
	for _, p := range job.Placements {
		nodes = append(nodes, fmt.Sprintf("%s (%s)", p.Node, p.Resources))
	}
	fmt.Fprintf(to, "\njob %s %s, exit code %d, after %s on %s\n", job.DisplayID(), job.State, job.ExitCode,
		job.EndedAt.Sub(job.StartedAt).Round(time.Millisecond), strings.Join(nodes, ", "))
	fmt.Fprintf(to, "placed by policy %s in cycle %d, %s after it was submitted\n", job.Policy, job.Cycle,
		job.StartedAt.Sub(job.SubmittedAt).Round(10*time.Microsecond))
	if policy := status.GetPolicy(); policy.GetName()+"@"+policy.GetVersion() == job.Policy {
		fmt.Fprintf(to, "that is WebAssembly, sha256 %.16s…; Raft log at index %d, term %d\n",
			policy.GetSha256(), status.GetAppliedIndex(), status.GetTerm())
	}
}
