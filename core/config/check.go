package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rowelhq/rowel/core"
)

// Bounds on what the file may ask for.
const (
	maxGuestMemory = 4 * GiB                  // what a wasm32 module can address
	maxScript      = core.MaxPayloadBytes / 2 // leaves as much for the environment
	minTimeout     = 5 * time.Millisecond     // hashicorp/raft refuses less
)

// Check reports everything wrong with the configuration whatever the role. Parse has
// done so already: it is for who changed a Config afterwards. The error is Problems.
func (c *Config) Check() error { return c.check(nil).err() }

// checker collects problems and knows where each key was set.
type checker struct {
	*Config
	problems Problems
}

// check appends to the problems that decoding found.
func (c *Config) check(found Problems) Problems {
	k := checker{Config: c, problems: found}
	k.identity()
	k.listeners()
	k.raft()
	k.agent()
	k.limits()
	k.oneOf("log.level", c.Log.Level, "trace", "debug", "info", "warn", "error")
	k.oneOf("log.format", c.Log.Format, "text", "json")
	return k.problems
}

func (k *checker) addf(key, format string, args ...any) {
	k.problems.add(k.source.at(key), key, format, args...)
}

// sound says whether nothing is wrong so far with any of the keys. A rule between keys
// asks it first: what follows from a reported problem is not reported again.
func (k *checker) sound(keys ...string) bool {
	return !slices.ContainsFunc(k.problems, func(p Problem) bool { return slices.Contains(keys, p.Key) })
}

func (k *checker) identity() {
	if core.ValidateNodeName(k.Name) != nil {
		k.addf("name", "%.80q must have 1 to 63 letters, digits, '-', '_' or '.'%s", k.Name, k.unset("name", "the host name"))
	}
	if core.ValidateNodeName(k.Cluster) != nil {
		k.addf("cluster", "%.80q must have 1 to 63 letters, digits, '-', '_' or '.'", k.Cluster)
	}
	k.notEmpty("data_dir", k.DataDir)
}

// unset explains where a wrong value came from if no file set it.
func (k *checker) unset(key, origin string) string {
	if _, set := k.source.keys[key]; set {
		return ""
	}
	return "; it is " + origin + ": set " + key
}

func (k *checker) listeners() {
	ports := map[string]string{}
	for _, l := range []struct {
		key, address string
		enabled      bool
	}{
		{"api.listen", k.API.Listen, true},
		{"raft.listen", k.Raft.Listen, true},
		{"probes.listen", k.Probes.Listen, k.Probes.Enabled},
		{"metrics.listen", k.Metrics.Listen, k.Metrics.Enabled},
	} {
		if err := checkListen(l.address); err != nil {
			k.addf(l.key, "%v", err)
			continue
		}
		_, port, _ := net.SplitHostPort(l.address)
		if first, taken := ports[l.address]; taken && l.enabled && port != "0" {
			k.addf(l.key, "%q is the address of %s already: choose another port", l.address, first)
		} else if l.enabled {
			ports[l.address] = l.key
		}
	}
	k.address("api.advertise", k.API.Advertise)
	k.address("raft.advertise", k.Raft.Advertise)
}

// address checks where somebody else connects to; empty means not set.
func (k *checker) address(key, address string) {
	if address == "" {
		return
	}
	if err := checkDial(address); err != nil {
		k.addf(key, "%v", err)
	}
}

func (k *checker) raft() {
	r := k.Raft
	k.addresses("raft.peers", r.Peers)
	if r.Advertise != "" && k.sound("raft.peers", "raft.advertise") {
		k.peersName(r.Advertise)
	}
	switch {
	case r.BootstrapExpect < 0:
		k.addf("raft.bootstrap_expect", "must be 1 or more, not %d; leave it out for one of each peer", r.BootstrapExpect)
	case k.sound("raft.peers") && r.BootstrapExpect > max(1, len(r.Peers)):
		k.addf("raft.bootstrap_expect", "%d controllers cannot come together: raft.peers names %d; list them all there", r.BootstrapExpect, len(r.Peers))
	}
	k.atLeast("raft.heartbeat_timeout", r.HeartbeatTimeout, minTimeout)
	k.atLeast("raft.election_timeout", r.ElectionTimeout, minTimeout)
	if k.sound("raft.heartbeat_timeout", "raft.election_timeout") && r.ElectionTimeout < r.HeartbeatTimeout {
		k.addf("raft.election_timeout", "%v is shorter than raft.heartbeat_timeout, %v: make it as long or longer", r.ElectionTimeout, r.HeartbeatTimeout)
	}
	k.positive("raft.snapshot_threshold", r.SnapshotThreshold)
	k.positive("raft.trailing_logs", r.TrailingLogs)
	k.atLeast("raft.stall_timeout", r.StallTimeout, minTimeout)
	k.between("raft.disk_reserve", r.DiskReserve, 0, TiB)
}

// peersName checks that a static peer list names this controller.
func (k *checker) peersName(advertise string) {
	if len(k.Raft.Peers) > 0 && !slices.Contains(k.Raft.Peers, advertise) {
		k.addf("raft.peers", "does not name this controller, %q: add it, or set raft.advertise to the entry that is this one", advertise)
	}
}

func (k *checker) agent() {
	k.addresses("agent.controllers", withoutSockets(k.Agent.Controllers))
	for _, name := range slices.Sorted(maps.Keys(k.Agent.Labels)) {
		if core.ValidateNodeName(name) != nil {
			k.addf("agent.labels", "label %.80q must have 1 to 63 letters, digits, '-', '_' or '.'", name)
		}
		if value := k.Agent.Labels[name]; len(value) > core.MaxNameBytes || strings.ContainsFunc(value, unicode.IsControl) {
			k.addf("agent.labels", "the value of %.80q must have at most %d bytes and no control characters", name, core.MaxNameBytes)
		}
	}
	if k.Agent.CPUs < 0 || k.Agent.CPUs > core.MaxCPUsPerTask {
		k.addf("agent.cpus", "must be from 1 to %d, or 0 for what the machine has, not %d", core.MaxCPUsPerTask, k.Agent.CPUs)
	}
	if k.Agent.KillWait < 0 {
		k.addf("agent.kill_wait", "must not be negative, as %v is", k.Agent.KillWait)
	}
}

func (k *checker) limits() {
	k.between("plugins.memory", k.Plugins.Memory, MiB, maxGuestMemory)
	k.positive("plugins.fuel", k.Plugins.Fuel)
	k.atLeast("plugins.deadline", k.Plugins.Deadline, time.Millisecond)
	k.positive("plugins.strikes", k.Plugins.Strikes)
	k.positive("scheduler.max_jobs_per_cycle", k.Scheduler.MaxJobsPerCycle)
	k.atLeast("jobs.retention", k.Jobs.Retention, time.Second)
	k.between("jobs.max_script", k.Jobs.MaxScript, KiB, maxScript)
	k.atLeast("health.down_after", k.Health.DownAfter, time.Second)
}

// withoutSockets leaves out the addresses that are a Unix socket's, "unix:/path".
func withoutSockets(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(address string) bool { return strings.HasPrefix(address, SocketPrefix+"/") })
}

func (k *checker) addresses(key string, list []string) {
	for i, address := range list {
		if err := checkDial(address); err != nil {
			k.addf(key, "%v", err)
		} else if slices.Contains(list[:i], address) {
			k.addf(key, "names %q twice: name each controller once", address)
		}
	}
}

func (k *checker) notEmpty(key, value string) {
	if value == "" || strings.ContainsFunc(value, unicode.IsControl) {
		k.addf(key, "must not be empty or have control characters")
	}
}

func (k *checker) positive(key string, n int) {
	if n < 1 {
		k.addf(key, "must be 1 or more, not %d", n)
	}
}

func (k *checker) atLeast(key string, d, least time.Duration) {
	if d < least {
		k.addf(key, "must be %v or longer, not %v", least, d)
	}
}

func (k *checker) between(key string, size, least, most Size) {
	if size < least || size > most {
		k.addf(key, "must be from %v to %v, not %v", least, most, size)
	}
}

func (k *checker) oneOf(key, value string, valid ...string) {
	if slices.Contains(valid, value) {
		return
	}
	remedy := "valid: " + strings.Join(valid, ", ")
	if near := nearest(value, valid); near != "" {
		remedy = "did you mean " + near + "?"
	}
	k.addf(key, "%.80q is not known: %s", value, remedy)
}

// checkListen checks host:port where the host may be empty and port 0 means any free one.
func checkListen(address string) error {
	if err := checkPort(address); err != nil {
		return fmt.Errorf("%.80q %w: write host:port, or :port for every interface", address, err)
	}
	return nil
}

// checkDial checks host:port where both are needed.
func checkDial(address string) error {
	if err := checkPort(address); err != nil {
		return fmt.Errorf("%.80q %w: write host:port", address, err)
	}
	switch host, port, _ := net.SplitHostPort(address); {
	case host == "":
		return fmt.Errorf("%q has no host: others must be able to connect to it", address)
	case port == "0":
		return fmt.Errorf("%q has port 0: others must be able to connect to it", address)
	}
	return nil
}

// checkPort says what an address is not.
func checkPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || len(host) > 253 || strings.ContainsFunc(host, notInHost) {
		return errors.New("is not an address")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return errors.New("has no port from 0 to 65535")
	}
	return nil
}

func notInHost(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
