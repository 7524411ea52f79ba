package controller

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/config"
	"github.com/rowelhq/rowel/core/consensus"
	"github.com/rowelhq/rowel/core/dispatch"
	"github.com/rowelhq/rowel/core/health"
	"github.com/rowelhq/rowel/core/history"
	"github.com/rowelhq/rowel/core/plugin"
	"github.com/rowelhq/rowel/core/probe"
	"github.com/rowelhq/rowel/core/scheduler"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/supervisor"
	"github.com/rowelhq/rowel/core/wire"
)

// heartbeatEvery is how often an agent says that it is there.
const heartbeatEvery = 5 * time.Second

// Controller is one replica. New opens everything, Run serves, Close lets go.
type Controller struct {
	// Exit ends the process when the core is dead. New sets os.Exit.
	Exit func(code int)

	config    *config.Config
	version   string
	log       hclog.Logger
	startedAt time.Time

	listeners *Listeners
	probe     *probe.Probe
	checks    checks
	store     *state.Store
	member    *consensus.Member
	history   *history.History
	plugins   *plugin.Host
	loaded    []*plugin.Plugin
	policy    policy
	fallback  policy
	scheduler *scheduler.Scheduler
	health    *health.Monitor
	dispatch  *dispatch.Dispatch
	api       *api.Server
	space     *space

	refusal atomic.Pointer[error] // why nothing is served any more
}

// New binds the ports, locks the data directory and opens what is in it. Nothing
// listens to anybody before Run. The caller closes the controller.
func New(ctx context.Context, c *config.Config, version string, logger hclog.Logger) (*Controller, error) {
	ctl := &Controller{Exit: os.Exit, config: c, version: version, log: logger, startedAt: time.Now(), store: state.New()}
	if err := ctl.open(ctx); err != nil {
		ctl.Close()
		return nil, err
	}
	return ctl, nil
}

func (c *Controller) open(ctx context.Context) error {
	if err := os.MkdirAll(c.config.DataDir, 0o755); err != nil {
		return core.Errorf(core.Unavailable, "data_dir: %w", cannotOpen(err))
	}
	steps := []func(context.Context) error{
		c.openPorts, c.openProbe, c.openPlugins, c.openHistory, c.openMember, c.openSocket, c.openRooms,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) openPorts(context.Context) (err error) {
	c.listeners, err = listen(c.config)
	return err
}

func (c *Controller) openProbe(context.Context) error {
	log := c.log.Named("probe")
	c.probe = probe.New(func(endpoint probe.Endpoint, from, to probe.Word) {
		log.Info("probe changed", "probe", string(endpoint), "from", string(from), "to", string(to))
	})
	c.checks = newChecks(c.probe)
	return nil
}

func (c *Controller) openHistory(context.Context) (err error) {
	c.history, err = history.Open(filepath.Join(c.config.DataDir, "history.db"), c.log.Named("history"))
	if err != nil {
		return cannotOpen(err)
	}
	return nil
}

func (c *Controller) openMember(context.Context) (err error) {
	raft := c.config.Raft
	c.member, err = consensus.Open(consensus.Config{
		Name:            c.config.Name,
		Cluster:         c.config.Cluster,
		DataDir:         filepath.Join(c.config.DataDir, "raft"),
		Listener:        c.listeners.Raft,
		Advertise:       advertised(c.config.AdvertiseRaft(), c.listeners.Raft),
		Peers:           raft.Peers,
		BootstrapExpect: raft.Expect(),
		Timing: consensus.Timing{
			Heartbeat: raft.HeartbeatTimeout,
			Election:  raft.ElectionTimeout,
			Stall:     raft.StallTimeout,
		},
		Log: consensus.Compaction{
			SnapshotThreshold: uint64(raft.SnapshotThreshold),
			TrailingLogs:      uint64(raft.TrailingLogs),
		},
		Encode: wire.EncodeCommand,
		Logger: c.log.Named("consensus"),
	}, machine{c.store})
	if err != nil {
		return cannotOpen(err)
	}
	return nil
}

// openSocket comes after the data directory is locked: a socket found there is then
// nobody's.
func (c *Controller) openSocket(context.Context) (err error) {
	c.listeners.Socket, err = listenSocket(filepath.Join(c.config.DataDir, SocketName))
	return err
}

// openRooms makes the parts that work on the open state.
func (c *Controller) openRooms(context.Context) error {
	view := c.store.View
	c.space = newSpace(c.config.DataDir, c.config.Raft.DiskReserve, c.log.Named("space"))
	c.health = health.New(health.Config{DownAfter: c.config.Health.DownAfter, HeartbeatEvery: heartbeatEvery},
		view, c.member, time.Now, c.log.Named("health"))
	c.dispatch = dispatch.New(dispatch.Config{Leader: c.config.Name, Heartbeat: heartbeatEvery},
		view, c.member, c.health, c.log.Named("dispatch"))
	c.scheduler = scheduler.New(scheduler.Config{MaxJobs: c.config.Scheduler.MaxJobsPerCycle},
		view, c.member, c.policy, c.fallback, time.Now, c.log.Named("scheduler"))
	c.api = api.NewServer(api.Config{
		Name:           c.config.Name,
		Insecure:       c.config.Insecure,
		MaxScriptBytes: int(c.config.Jobs.MaxScript),
		Replica:        c.member,
		View:           view,
		Leader:         c.leader,
		Agents:         c.dispatch,
		History:        c.history.Query,
		Heard:          c.health.LastHeard,
		Status:         c.status,
		Admit:          c.space.admit,
		Refuse:         c.refuse,
		Logger:         c.log.Named("api"),
	})
	return nil
}

// Run serves until ctx is done, then hands leadership over and stops in order. When the
// core dies it ends the process instead: see supervisor.DeathWatch.
func (c *Controller) Run(ctx context.Context) error {
	parts := supervisor.New(c.log)
	if c.listeners.Probes != nil {
		parts.AddTask("probes", func(ctx context.Context) error { return c.probe.Serve(ctx, c.listeners.Probes) })
	}
	if c.listeners.Metrics != nil {
		parts.AddTask("metrics", func(ctx context.Context) error { return c.serveMetrics(ctx, c.listeners.Metrics) })
	}
	parts.AddTask("readiness", c.followReadiness)
	parts.AddTask("space", c.space.run)
	parts.AddTask("history", func(ctx context.Context) error { return c.history.Run(ctx, c.store.View) })
	parts.AddTask("api", func(ctx context.Context) error {
		return c.api.Serve(ctx, c.listeners.API, c.listeners.Socket)
	})
	parts.AddTask("leadership", c.runLeaderTasks)
	parts.Add("handover", handover{c})

	watch, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	go c.watchDeath(watch)
	c.log.Info("controller serves", "api", c.listeners.API.Addr().String(), "raft", c.listeners.Raft.Addr().String(), "version", c.version)
	return parts.Run(ctx)
}

// Close releases what New opened.
func (c *Controller) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if c.member != nil {
		if err := c.member.Close(ctx); err != nil {
			c.log.Warn("consensus did not close in time", "error", err)
		}
	}
	if c.history != nil {
		if err := c.history.Close(); err != nil {
			c.log.Warn("history did not close", "error", err)
		}
	}
	for _, loaded := range c.loaded {
		_ = loaded.Close(ctx) // only a guest in the middle of a call can refuse, and the process ends
	}
	if c.listeners != nil {
		c.listeners.Close()
	}
}

// APIAddress returns where the API listens.
func (c *Controller) APIAddress() string { return c.listeners.API.Addr().String() }

// SocketPath returns the Unix socket on which local clients reach the API.
func (c *Controller) SocketPath() string { return filepath.Join(c.config.DataDir, SocketName) }
