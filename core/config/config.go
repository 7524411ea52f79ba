package config

import (
	"net"
	"os"
	"path/filepath"
	"time"
)

// Config is everything that config.hcl can say. A value made by Default, Parse or Load
// may be changed afterwards, by flags for example; whoever does calls Check again. What
// follows from other keys (addresses to advertise, the spool directory) is a method, so
// that it follows the change too.
type Config struct {
	Name     string `hcl:"name"`
	DataDir  string `hcl:"data_dir"`
	Cluster  string `hcl:"cluster"`
	Insecure bool   `hcl:"insecure"`

	API       API       `hcl:"api"`
	Raft      Raft      `hcl:"raft"`
	Probes    Listener  `hcl:"probes"`
	Metrics   Listener  `hcl:"metrics"`
	Log       Log       `hcl:"log"`
	Agent     Agent     `hcl:"agent"`
	Plugins   Plugins   `hcl:"plugins"`
	Scheduler Scheduler `hcl:"scheduler"`
	Jobs      Jobs      `hcl:"jobs"`
	Health    Health    `hcl:"health"`

	source source // where each key was set; empty for a Config that no file made
}

// API is where clients and agents reach the controller. Advertise is empty when it
// follows Listen: use AdvertiseAPI.
type API struct {
	Listen    string `hcl:"listen"`
	Advertise string `hcl:"advertise"`
}

// Raft is this replica's place among the controllers. Advertise is empty when it
// follows Listen: use AdvertiseRaft. BootstrapExpect is 0 when the file does not set
// it: use Expect.
type Raft struct {
	Listen            string        `hcl:"listen"`
	Advertise         string        `hcl:"advertise"`
	Peers             []string      `hcl:"peers"`
	BootstrapExpect   int           `hcl:"bootstrap_expect"`
	HeartbeatTimeout  time.Duration `hcl:"heartbeat_timeout"`
	ElectionTimeout   time.Duration `hcl:"election_timeout"`
	SnapshotThreshold int           `hcl:"snapshot_threshold"` // log entries
	TrailingLogs      int           `hcl:"trailing_logs"`      // log entries
	StallTimeout      time.Duration `hcl:"stall_timeout"`
	DiskReserve       Size          `hcl:"disk_reserve"` // 0: none
}

// Expect returns how many empty controllers make a new cluster together: what the file
// says, else all peers, else one.
func (r Raft) Expect() int {
	if r.BootstrapExpect > 0 {
		return r.BootstrapExpect
	}
	return max(1, len(r.Peers))
}

// Listener is a port that can be switched off: probes, metrics.
type Listener struct {
	Enabled bool   `hcl:"enabled"`
	Listen  string `hcl:"listen"`
}

// Log says how much is logged to standard error, and in which form.
type Log struct {
	Level  string `hcl:"level"`  // trace, debug, info, warn, error
	Format string `hcl:"format"` // text, json
}

// SocketPrefix starts the address of a controller on this machine that is reached over
// the Unix socket in its data directory: "unix:/var/lib/rowel/rowel.sock".
const SocketPrefix = "unix:"

// Agent is what a compute node says of itself. Zero CPUs and Memory mean what the
// machine has. SpoolDir is empty when it follows data_dir: use Config.Spool.
type Agent struct {
	Controllers []string          `hcl:"controllers"`
	Labels      map[string]string `hcl:"labels"`
	SpoolDir    string            `hcl:"spool_dir"`
	CPUs        int               `hcl:"cpus"`
	Memory      Size              `hcl:"memory"`
	KillWait    time.Duration     `hcl:"kill_wait"` // from SIGTERM to SIGKILL
}

// Plugins bounds every guest, and names the policy of this controller if it is not the
// embedded one.
type Plugins struct {
	Policy   string        `hcl:"policy"` // path of a .wasm file, or empty
	Memory   Size          `hcl:"memory"`
	Fuel     int           `hcl:"fuel"`     // of one call, in millions of units
	Deadline time.Duration `hcl:"deadline"` // of one call
	Strikes  int           `hcl:"strikes"`  // until the circuit opens
}

// Scheduler bounds one scheduling cycle.
type Scheduler struct {
	MaxJobsPerCycle int `hcl:"max_jobs_per_cycle"`
}

// Jobs bounds what the replicated state keeps of jobs.
type Jobs struct {
	Retention time.Duration `hcl:"retention"` // of terminal jobs; then history alone has them
	MaxScript Size          `hcl:"max_script"`
}

// Health says when a silent node is down.
type Health struct {
	DownAfter time.Duration `hcl:"down_after"`
}

// Default returns the configuration of an empty file. The name is the host name,
// "localhost" if the machine does not know it.
func Default() *Config {
	return &Config{
		Name:    hostName(),
		DataDir: "/var/lib/rowel",
		Cluster: "rowel",
		API:     API{Listen: ":6817"},
		Raft: Raft{
			Listen:            ":6821",
			HeartbeatTimeout:  500 * time.Millisecond,
			ElectionTimeout:   500 * time.Millisecond,
			SnapshotThreshold: 16384,
			TrailingLogs:      10240,
			StallTimeout:      5 * time.Second,
			DiskReserve:       128 * MiB,
		},
		Probes:    Listener{Enabled: true, Listen: ":6823"},
		Metrics:   Listener{Enabled: true, Listen: "127.0.0.1:6822"},
		Log:       Log{Level: "info", Format: "text"},
		Agent:     Agent{KillWait: 30 * time.Second},
		Plugins:   Plugins{Memory: 256 * MiB, Fuel: 20_000, Deadline: 5 * time.Second, Strikes: 3},
		Scheduler: Scheduler{MaxJobsPerCycle: 10_000},
		Jobs:      Jobs{Retention: time.Hour, MaxScript: 4 * MiB},
		Health:    Health{DownAfter: time.Minute},
	}
}

// AdvertiseAPI returns the address at which clients and agents reach this controller.
func (c *Config) AdvertiseAPI() string { return advertise(c.API.Advertise, c.API.Listen) }

// AdvertiseRaft returns the address at which the other controllers reach this one.
func (c *Config) AdvertiseRaft() string { return advertise(c.Raft.Advertise, c.Raft.Listen) }

// Spool returns the directory where the agent keeps what its jobs need to be found
// again after a restart.
func (c *Config) Spool() string {
	if c.Agent.SpoolDir != "" {
		return c.Agent.SpoolDir
	}
	return filepath.Join(c.DataDir, "spool")
}

// advertise returns set, or listen with the host name in place of "every interface".
func advertise(set, listen string) string {
	if set != "" {
		return set
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = hostName()
	}
	return net.JoinHostPort(host, port)
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}
