package agent

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is how long killed processes may take to leave before they are given up
// as stuck in the kernel.
const killPatience = 2 * time.Second

// command is a process about to be.
type command struct {
	path           string
	argv           []string
	environment    []string
	directory      string
	stdin          *os.File
	stdout, stderr *os.File
	credential     *syscall.Credential
}

// process is the first process of a job, leader of a session and a process group of its
// own. Its number, and so that of group and session, stays its own until end has reaped
// it, which is what makes signals to them safe.
type process struct {
	pid      int
	start    uint64 // see procStat
	handle   *os.Process
	pidfd    *os.File // readable once it is dead; nil on a kernel without
	sessions *sessions

	mu       sync.Mutex  // guards all below
	reaped   bool        // pid means nothing any more
	killTime *time.Timer // set once it was told to end
	killed   chan struct{}
}

func startProcess(c command, sessions *sessions) (*process, error) {
	pidfd := -1
	handle, err := os.StartProcess(c.path, c.argv, &os.ProcAttr{
		Dir:   c.directory,
		Env:   c.environment,
		Files: []*os.File{c.stdin, c.stdout, c.stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: c.credential, PidFD: &pidfd},
	})
	if err != nil {
		return nil, err
	}
	p := &process{pid: handle.Pid, handle: handle, sessions: sessions, killed: make(chan struct{})}
	if pidfd >= 0 {
		// Non-blocking puts it under the runtime's poller: no thread waits for each job.
		_ = unix.SetNonblock(pidfd, true)
		p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	}
	if stat, err := readStat(p.pid); err == nil {
		p.start = stat.start
	}
	return p, nil
}

// awaitExit blocks until the first process is dead, and leaves it unreaped.
func (p *process) awaitExit() {
	if p.pidfd != nil && awaitReadable(p.pidfd) == nil {
		return
	}
	for errors.Is(unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
}

func awaitReadable(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, _ := unix.Poll(poll, 0)
		return n > 0
	})
}

// terminate sends SIGTERM to everything in the session and, after the grace, SIGKILL.
// It returns at once; a second call does nothing.
func (p *process) terminate(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.killTime != nil {
		return
	}
	p.killTime = time.AfterFunc(grace, p.kill)
	p.signal(unix.SIGTERM)
	p.signal(unix.SIGCONT) // a stopped process would not hear it
}

// kill is the end of the grace.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.signal(unix.SIGKILL)
	}
	close(p.killed)
}

// signal reaches the group at one stroke, then what left the group but not the session:
// what a shell runs with set -m, or timeout(1). The caller holds mu and has seen that
// the process is not reaped.
func (p *process) signal(sig unix.Signal) {
	_ = unix.Kill(-p.pid, sig) // fails only if all are gone
	p.sessions.signal(p.pid, sig, func(s procStat) bool { return s.group != p.pid })
}

// end clears up once the first process is dead and returns how it died. After an end of
// its own, what it left behind in its group is killed. After terminate, the others keep
// what is left of their grace: a shell dies of SIGTERM at once, while the program it ran
// may be writing its checkpoint. stuck counts processes that survived SIGKILL.
func (p *process) end() (status syscall.WaitStatus, stuck int, err error) {
	p.mu.Lock()
	told := p.killTime != nil
	if !told {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
		status, err = p.reap()
	}
	p.mu.Unlock()
	if !told {
		return status, 0, err
	}
	p.awaitSession()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killTime.Stop()
	stuck = p.sessions.kill(p.pid, killPatience)
	status, err = p.reap()
	return status, stuck, err
}

// awaitSession returns when the session is empty or its grace is over.
func (p *process) awaitSession() {
	for wait := 5 * time.Millisecond; len(p.sessions.of(p.pid)) > 0; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-p.killed:
			return
		case <-time.After(wait):
		}
	}
}

// reap takes the dead process from the kernel. The caller holds mu.
func (p *process) reap() (syscall.WaitStatus, error) {
	p.reaped = true
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
	state, err := p.handle.Wait()
	if err != nil {
		return 0, fmt.Errorf("wait for process %d: %w", p.pid, err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return 0, fmt.Errorf("wait for process %d: no status", p.pid)
	}
	return status, nil
}
