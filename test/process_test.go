package test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one rowel daemon.
type process struct {
	t    testing.TB
	args []string
	log  *logBuffer

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// start runs `rowel args…` until the test ends.
func start(t testing.TB, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, args: args, log: &logBuffer{}}
	p.start()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, p.log.tail(60))
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(rowel, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = 100 * time.Millisecond // a child that its disk holds back keeps the pipe
	p.cmd.Env = append(os.Environ(), "ROWEL_ADDR=")
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("start rowel %s: %v", strings.Join(p.args, " "), err)
	}
	done := make(chan struct{})
	p.done = done
	cmd := p.cmd
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
}

// daemon returns the process that does the work: the child of the guard that rowel
// started first, or the process itself where there is none.
func (p *process) daemon() int {
	p.t.Helper()
	pid := p.cmd.Process.Pid
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		if child, err := strconv.Atoi(strings.TrimSpace(string(children))); err == nil {
			return child
		}
	}
	return pid
}

// kill ends the process as a power cut would end it, and waits until it is gone.
func (p *process) kill() {
	select {
	case <-p.done:
		return
	default:
	}
	daemon := p.daemon()
	_ = p.cmd.Process.Kill()
	<-p.done
	for alive(daemon) { // it dies of its guard's death, a moment later
		runtime.Gosched()
	}
}

// alive reports whether a process runs; one that nobody has reaped yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z")) && !bytes.HasPrefix(rest, []byte("X"))
}

// stop asks the process to end and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait(20 * time.Second)
}

// wait returns the exit code once the process has ended by itself.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("rowel %s did not end within %v", strings.Join(p.args, " "), limit)
		return 0
	}
}

// logBuffer keeps what a process prints.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// reset forgets what was printed.
func (b *logBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

func (b *logBuffer) tail(lines int) string {
	all := strings.Split(strings.TrimSpace(b.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// freePorts returns loopback addresses that nothing listened on a moment ago.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// eventually waits until a condition holds; what names it in the failure.
func eventually(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// writeFile writes a file of the test's and returns its path.
func writeFile(t testing.TB, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// cli runs rowel to its end against the cluster and returns what it printed and its
// exit code.
func cli(t testing.TB, c *cluster, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rowel, args...)
	cmd.Env = append(os.Environ(), "ROWEL_ADDR="+strings.Join(c.addresses(), ","))
	cmd.Dir = c.dir
	cmd.Stdin = strings.NewReader(stdin)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("rowel %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errors.String(), cmd.ProcessState.ExitCode()
}

// hclList writes addresses as an HCL list.
func hclList(addresses []string) string {
	var quoted []string
	for _, a := range addresses {
		quoted = append(quoted, fmt.Sprintf("%q", a))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// timeout returns a context of the test that ends after so long.
func timeout(t testing.TB, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), limit)
}
