package consensus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
)

// A raft whose main loop hangs owes the answer to a transfer of leadership for good.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/rowelhq/rowel/core/consensus.(*Member).TransferLeadership.func1"))
}

// journal is a Machine that keeps every command. A command's result is its position,
// or an error for one that starts with "refuse".
type journal struct {
	mu       sync.Mutex
	Commands []string    // guarded by mu
	Entries  int         // guarded by mu
	times    []time.Time // guarded by mu
	trap     atomic.Pointer[func(command string) error]
}

func (j *journal) Apply(_ uint64, at time.Time, commands [][]byte) ([]core.Result, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Entries++
	j.times = append(j.times, at)
	var results []core.Result
	for _, c := range commands {
		if trap := j.trap.Load(); trap != nil {
			if err := (*trap)(string(c)); err != nil {
				return nil, err
			}
		}
		if strings.HasPrefix(string(c), "refuse") {
			results = append(results, core.Errorf(core.Conflict, "refused %s", c))
			continue
		}
		j.Commands = append(j.Commands, string(c))
		results = append(results, len(j.Commands))
	}
	return results, nil
}

func (j *journal) Snapshot() (Snapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := json.Marshal(struct{ Commands []string }{j.Commands})
	return frozen(b), err
}

func (j *journal) Restore(r io.Reader) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return json.NewDecoder(r).Decode(j)
}

func (j *journal) commands() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.Commands...)
}

func (j *journal) entries() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Entries
}

// setTrap makes Apply call f before each command.
func (j *journal) setTrap(f func(command string) error) { j.trap.Store(&f) }

type frozen []byte

func (f frozen) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(f).WriteTo(w) }

// say is the command that carries text to the journal.
func say(text string) core.Command { return core.DrainNode{Name: text} }

func encodeText(c core.Command) ([]byte, error) { return []byte(c.(core.DrainNode).Name), nil }

// quick are timings for tests: elections in some tens of milliseconds.
var quick = Timing{
	Heartbeat: 150 * time.Millisecond, LeaderLease: 100 * time.Millisecond,
	Transport: time.Second, Stall: 2 * time.Second, Poll: 20 * time.Millisecond,
}

// node is a member under test and what is needed to open it again.
type node struct {
	*Member
	t       testing.TB
	cfg     Config
	journal *journal
	log     *logBuffer
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// config returns the configuration of a server alone, on a new directory.
func config(t testing.TB, name string) Config {
	t.Helper()
	return Config{
		Name: name, Cluster: "test", DataDir: t.TempDir(), Encode: encodeText, Timing: quick,
	}
}

// open opens a member and closes it when the test ends.
func open(t testing.TB, cfg Config) *node {
	t.Helper()
	n := &node{t: t, cfg: cfg}
	if err := n.reopen(); err != nil {
		t.Fatalf("open %s: %v", cfg.Name, err)
	}
	return n
}

// reopen starts the closed node again, at the same address and on the same directory.
func (n *node) reopen() error {
	n.t.Helper()
	if n.cfg.Listener == nil || n.Member != nil {
		address := "127.0.0.1:0"
		if n.cfg.Advertise != "" {
			address = n.cfg.Advertise
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		n.cfg.Listener = l
		n.cfg.Advertise = l.Addr().String()
	}
	n.log = &logBuffer{}
	n.cfg.Logger = hclog.New(&hclog.LoggerOptions{Name: n.cfg.Name, Level: hclog.Debug, Output: n.log})
	n.journal = &journal{}
	m, err := Open(n.cfg, n.journal)
	if err != nil {
		_ = n.cfg.Listener.Close()
		return err
	}
	n.Member = m
	n.t.Cleanup(func() {
		if n.Member == m {
			n.close()
		}
		if n.t.Failed() && testing.Verbose() {
			n.t.Logf("log of %s:\n%s", n.cfg.Name, n.log)
		}
	})
	return nil
}

// close closes the member within 5 seconds.
func (n *node) close() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := n.Member.Close(ctx); err != nil {
		n.t.Errorf("close %s: %v", n.cfg.Name, err)
	}
}

// restart closes the node and opens it again.
func (n *node) restart() {
	n.t.Helper()
	n.close()
	if err := n.reopen(); err != nil {
		n.t.Fatalf("reopen %s: %v", n.cfg.Name, err)
	}
}

// propose proposes text and fails the test on an error.
func (n *node) propose(text string) core.Result {
	n.t.Helper()
	result, err := n.Propose(n.t.Context(), say(text))
	if err != nil {
		n.t.Fatalf("propose %q: %v", text, err)
	}
	return result
}

// awaitReady waits until the node answers the word.
func (n *node) awaitReady(word string) {
	n.t.Helper()
	eventually(n.t, fmt.Sprintf("%s to be %s", n.cfg.Name, word), func() bool {
		got, _ := n.Ready()
		return got == word
	})
}

// awaitDeath waits a second for the node to die of kind.
func (n *node) awaitDeath(kind string) Death {
	n.t.Helper()
	select {
	case d := <-n.Died():
		if d.Kind != kind {
			n.t.Fatalf("died of %s (%v), want %s", d.Kind, d.Cause, kind)
		}
		return d
	case <-time.After(n.cfg.Timing.Stall + time.Second):
		n.t.Fatalf("no death, want %s", kind)
	}
	panic("unreachable")
}

// eventually waits up to 10 seconds for the condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(10 * time.Second)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited 10 s for %s", what)
		}
	}
}

// trio opens three servers that form a cluster and waits until all are ready.
func trio(t testing.TB) []*node {
	t.Helper()
	nodes := trioOf(t, nil)
	for _, n := range nodes {
		n.awaitReady(ReadyOK)
	}
	return nodes
}

// trioOf opens three servers, each with its configuration changed by change.
func trioOf(t testing.TB, change func(*Config)) []*node {
	t.Helper()
	var nodes []*node
	for _, cfg := range trioConfigs(t) {
		if change != nil {
			change(&cfg)
		}
		nodes = append(nodes, open(t, cfg))
	}
	return nodes
}

// trioConfigs returns three configurations that list each other.
func trioConfigs(t testing.TB) []Config {
	t.Helper()
	var configs []Config
	var peers []string
	for _, name := range []string{"a", "b", "c"} {
		cfg := config(t, name)
		cfg.Listener = listen(t)
		cfg.Advertise = cfg.Listener.Addr().String()
		peers = append(peers, cfg.Advertise)
		configs = append(configs, cfg)
	}
	for i := range configs {
		configs[i].Peers = peers
	}
	return configs
}

// leaderOf waits for one of the nodes to lead.
func leaderOf(t testing.TB, nodes []*node) *node {
	t.Helper()
	var leader *node
	eventually(t, "a leader", func() bool {
		for _, n := range nodes {
			if l, _ := n.Leadership(); l.Leading {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

// without returns nodes less one.
func without(nodes []*node, one *node) []*node {
	var rest []*node
	for _, n := range nodes {
		if n != one {
			rest = append(rest, n)
		}
	}
	return rest
}

// logBuffer keeps a member's log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) contains(text string) bool { return strings.Contains(l.String(), text) }
