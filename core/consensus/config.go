package consensus

import (
	"context"
	"net"
	"regexp"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/rowelhq/rowel/core"
)

// Config is what a member needs to know. Zero values of the fields that say "default"
// are replaced by Open.
type Config struct {
	Name    string // of this server; unique in the cluster, letters, digits, ".", "_" and "-"
	Cluster string // the human name; servers that form a cluster must agree on it
	DataDir string // created if missing; one process at a time

	Listener        net.Listener                                                // for Raft; the member closes it. Mutual TLS goes underneath
	Dial            func(ctx context.Context, address string) (net.Conn, error) // default: TCP
	Advertise       string                                                      // host:port that others reach Listener at; default: its address
	Peers           []string                                                    // host:port of each first server, itself included; none: a cluster of one
	BootstrapExpect int                                                         // servers that form the cluster; default: the number of distinct Peers, 1 with none

	Timing Timing
	Log    Compaction

	Encode func(core.Command) ([]byte, error) // what Machine.Apply gets for a command
	Now    func() time.Time                   // stamps entries; default time.Now
	Logger hclog.Logger                       // default: none

	// inject replaces parts of the member in this package's own tests.
	inject injection
}

// Timing holds the member's durations. Heartbeats go through Raft's main loop here and
// so wait for its fsyncs: raise Heartbeat and Election on disks slower than 100 ms.
type Timing struct {
	Heartbeat   time.Duration // silence after which a follower looks for a new leader; default 500 ms
	Election    time.Duration // how long a candidate waits, at least Heartbeat; default Heartbeat
	LeaderLease time.Duration // silence of the quorum after which a leader steps down; default Heartbeat/2
	LeaderGrace time.Duration // how long a follower stays ready without a leader; default 6 Heartbeat
	Transport   time.Duration // limit of one RPC and of one handshake; default 3 s
	Stall       time.Duration // an operation that takes longer kills the member; default 5 s
	Enqueue     time.Duration // how long a batch waits for the main loop; default Stall
	Poll        time.Duration // between looks at the other servers while the cluster forms; default 500 ms
}

// Compaction says when the log is replaced by a snapshot and what of it stays.
type Compaction struct {
	SnapshotThreshold uint64        // entries since the last snapshot; default 8192
	SnapshotInterval  time.Duration // between looks at the threshold, jittered up to twice; default 30 s
	TrailingLogs      uint64        // entries kept for followers that lag; default 10240
}

// injection is how tests put faults under a member or run it in memory.
type injection struct {
	transport raft.Transport         // instead of Listener
	parts     func() (*parts, error) // instead of the stores in DataDir
	wrap      func(parts *parts)     // puts faults under the watch
	tick      time.Duration          // of the monitor; default 20 ms
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// withDefaults returns the configuration completed, or an error of kind Invalid.
func (c Config) withDefaults() (Config, error) {
	if !validName.MatchString(c.Name) {
		return c, core.Errorf(core.Invalid, "server name %q: use 1 to 63 letters, digits, \".\", \"_\" or \"-\"", c.Name)
	}
	if c.Encode == nil {
		return c, core.Errorf(core.Invalid, "server %q has no command encoder", c.Name)
	}
	if c.Listener == nil && c.inject.transport == nil {
		return c, core.Errorf(core.Invalid, "server %q has no Raft listener", c.Name)
	}
	if c.Advertise == "" && c.Listener != nil {
		c.Advertise = c.Listener.Addr().String()
	}
	if c.Listener != nil {
		if err := checkAdvertise(c.Advertise); err != nil {
			return c, err
		}
	}
	c.Peers = slices.Compact(slices.Sorted(slices.Values(c.Peers)))
	setDefault(&c.BootstrapExpect, max(1, len(c.Peers)))
	if c.BootstrapExpect != max(1, len(c.Peers)) {
		return c, core.Errorf(core.Invalid,
			"bootstrap_expect is %d but %d distinct peers are listed: list each first server once, this one included",
			c.BootstrapExpect, len(c.Peers))
	}
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	c.Timing = c.Timing.withDefaults()
	c.Log = c.Log.withDefaults()
	setDefault(&c.inject.tick, 20*time.Millisecond)
	return c, nil
}

// single reports whether this server is to form a cluster by itself.
func (c Config) single() bool {
	return len(c.Peers) == 0 || (len(c.Peers) == 1 && c.Peers[0] == c.Advertise)
}

func (t Timing) withDefaults() Timing {
	setDefault(&t.Heartbeat, 500*time.Millisecond)
	setDefault(&t.Election, t.Heartbeat)
	setDefault(&t.LeaderLease, t.Heartbeat/2)
	setDefault(&t.LeaderGrace, 6*t.Heartbeat)
	setDefault(&t.Transport, 3*time.Second)
	setDefault(&t.Stall, 5*time.Second)
	setDefault(&t.Enqueue, t.Stall)
	setDefault(&t.Poll, 500*time.Millisecond)
	return t
}

// notice is the length of a stall that makes the member unready.
func (t Timing) notice() time.Duration { return min(time.Second, t.Stall/2) }

func (l Compaction) withDefaults() Compaction {
	setDefault(&l.SnapshotThreshold, 8192)
	setDefault(&l.SnapshotInterval, 30*time.Second)
	setDefault(&l.TrailingLogs, 10240)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// checkAdvertise refuses an address that nobody else could dial.
func checkAdvertise(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return core.Errorf(core.Invalid, "raft advertise address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "" || port == "0" || (ip != nil && ip.IsUnspecified()) {
		return core.Errorf(core.Invalid, "raft advertise address %q cannot be reached: set raft.advertise to host:port", address)
	}
	return nil
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// raftConfig translates the configuration for hashicorp/raft.
func (c Config) raftConfig(id raft.ServerID) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.Logger = c.Logger.Named("raft")
	conf.HeartbeatTimeout = c.Timing.Heartbeat
	conf.ElectionTimeout = c.Timing.Election
	conf.LeaderLeaseTimeout = c.Timing.LeaderLease
	conf.SnapshotThreshold = c.Log.SnapshotThreshold
	conf.SnapshotInterval = c.Log.SnapshotInterval
	conf.TrailingLogs = c.Log.TrailingLogs
	conf.ShutdownOnRemove = false
	conf.NoLegacyTelemetry = true
	// Commands are batched before Raft sees them. An unbuffered apply channel makes
	// "not enqueued in time" mean "not done", and loses no future at shutdown; few
	// entries in one append keep its worst case, all of them full, sendable.
	conf.BatchApplyCh = false
	conf.MaxAppendEntries = 64
	// RestoreCommittedLogs stays off: it deadlocks past 8,192 entries in v1.8.0.
	return conf
}
