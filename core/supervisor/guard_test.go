package supervisor_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core/supervisor"
)

// behaviourEnv makes the test binary a guarded process that does what its value says.
const behaviourEnv = "ROWEL_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	behaviour := os.Getenv(behaviourEnv)
	if behaviour == "" {
		goleak.VerifyTestMain(m)
		return
	}
	logger := hclog.New(&hclog.LoggerOptions{Output: os.Stderr, DisableTime: true})
	guarded, err := supervisor.Guard(logger, 70)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if guarded.IsParent {
		os.Exit(guarded.Code)
	}
	os.Exit(behaviours[behaviour]())
}

// behaviours are what a guarded child may do; each returns its exit code.
var behaviours = map[string]func() int{
	"exit 0": func() int { return 0 },
	"exit 2": func() int { return 2 },
	"exit 7": func() int { return 7 },
	"panic": func() int {
		go func() { panic("raft: failed to save term") }()
		select {}
	},
	"fatal error": func() int {
		new(sync.Mutex).Unlock() // of an unlocked mutex: nobody can recover that
		return 0
	},
	"bus error": readBehindTruncation,
	"kill itself": func() int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
	"crash with core": func() int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	},
	"echo": func() int {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"describe": describe,
	"wait": func() int {
		signals := make(chan os.Signal, 4)
		signal.Notify(signals)
		fmt.Println("pid", os.Getpid())
		for s := range signals {
			if s != syscall.SIGURG { // the runtime's own
				fmt.Println("got", s)
				return 0
			}
		}
		return 1
	},
}

// readBehindTruncation dies as a process whose mapped database file is truncated.
func readBehindTruncation() int {
	file, err := os.Create(filepath.Join(os.TempDir(), "mapped"))
	if err != nil {
		return 1
	}
	if err := file.Truncate(8192); err != nil {
		return 1
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 8192, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 1
	}
	if err := file.Truncate(0); err != nil {
		return 1
	}
	return int(mapped[5000])
}

// describe prints what a child can see of being guarded.
func describe() int {
	fmt.Println("group", syscall.Getpgrp())
	fmt.Println("guard variable", os.Getenv("ROWEL_GUARDED"))
	fmt.Println("arguments", os.Args[1:])
	fmt.Println("a job would inherit", inheritable())
	return 0
}

// inheritable lists the descriptors above standard error that a child would get.
func inheritable() (fds []int) {
	for fd := 3; fd < 1024; fd++ {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// guarded prepares a real guarded process.
func guarded(t *testing.T, behaviour string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), behaviourEnv+"="+behaviour, "TMPDIR="+t.TempDir())
	cmd.WaitDelay = 20 * time.Second
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// guardLine returns the one line that the guard logs, "" if it logged none.
func guardLine(t *testing.T, stderr string) string {
	t.Helper()
	var found string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "the core is dead") {
			if found != "" {
				t.Errorf("two lines: %q and %q", found, line)
			}
			found = line
		}
	}
	return found
}

func TestGuardReturnsTheCodeOfItsChild(t *testing.T) {
	for behaviour, want := range map[string]int{"exit 0": 0, "exit 2": 2, "exit 7": 7, "kill itself": 128 + 9} {
		t.Run(behaviour, func(t *testing.T) {
			cmd, _, stderr := guarded(t, behaviour)
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("exit %d, want %d", got, want)
			}
			if stderr.Len() > 0 {
				t.Errorf("it wrote %q, want silence", stderr)
			}
		})
	}
}

func TestGuardTurnsACrashIntoOneLineAndItsCode(t *testing.T) {
	for behaviour, reason := range map[string]string{
		"panic":           "panic: raft: failed to save term",
		"fatal error":     "fatal error of the Go runtime, which standard error names; goroutine 1 [running]",
		"bus error":       "signal SIGBUS",
		"crash with core": "SIGABRT: abort",
	} {
		t.Run(behaviour, func(t *testing.T) {
			cmd, _, stderr := guarded(t, behaviour)
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != 70 {
				t.Errorf("exit %d, want 70", got)
			}
			if line := guardLine(t, stderr.String()); !strings.Contains(line, reason) || !strings.HasPrefix(line, "[ERROR]") {
				t.Errorf("line %q, want an error with %q", line, reason)
			}
			if !strings.Contains(stderr.String(), "goroutine ") {
				t.Errorf("the stack is missing from standard error: %q", stderr)
			}
		})
	}
}

func TestGuardTurnsACrashWithCoreDumpIntoItsCode(t *testing.T) {
	cmd, _, stderr := guarded(t, "panic")
	cmd.Env = append(cmd.Env, "GOTRACEBACK=crash") // ends by SIGABRT
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 70 {
		t.Errorf("exit %d, want 70", got)
	}
	if line := guardLine(t, stderr.String()); !strings.Contains(line, "panic: raft: failed to save term") {
		t.Errorf("line %q", line)
	}
}

func TestGuardPassesStandardInputAndOutput(t *testing.T) {
	cmd, stdout, _ := guarded(t, "echo")
	cmd.Stdin = strings.NewReader("a job script")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "a job script" {
		t.Errorf("got %q", stdout)
	}
}

func TestGuardedChildSeesNothingOfBeingGuarded(t *testing.T) {
	cmd, stdout, _ := guarded(t, "describe", "controller", "-config", "x")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("group %d\nguard variable \narguments [controller -config x]\na job would inherit %v\n",
		syscall.Getpgrp(), inheritable()) // what the test itself was given goes on; the guard adds nothing
	if stdout.String() != want {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

// startWaiting starts a guarded child that waits for a signal, and returns once it does.
func startWaiting(t *testing.T) (cmd *exec.Cmd, output *bufio.Reader) {
	t.Helper()
	cmd, _, _ = guarded(t, "wait")
	cmd.Stdout = nil
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output = bufio.NewReader(pipe)
	if line, err := output.ReadString('\n'); err != nil || !strings.HasPrefix(line, "pid ") {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return cmd, output
}

func TestGuardForwardsSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			cmd, output := startWaiting(t)
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(output)
			if err := cmd.Wait(); err != nil {
				t.Errorf("the guard ended with %v, want the child's 0", err)
			}
			if want := "got " + s.String() + "\n"; string(rest) != want {
				t.Errorf("the child said %q, want %q", rest, want)
			}
		})
	}
}

func TestKillOfTheGuardKillsTheChild(t *testing.T) {
	cmd, output := startWaiting(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(output) // ends when the last holder of the pipe is gone: the child
		ended <- string(rest)
	}()
	select {
	case rest := <-ended:
		if rest != "" {
			t.Errorf("the child said %q, want nothing: it was killed", rest)
		}
	case <-time.After(20 * time.Second):
		t.Error("the child lives on without its guard")
	}
	_ = cmd.Wait()
}

func TestGuardVariableWithoutAGuardIsAnError(t *testing.T) {
	cmd, _, stderr := guarded(t, "exit 0")
	cmd.Env = append(cmd.Env, "ROWEL_GUARDED=1")
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "nobody guards this process") {
		t.Errorf("exit %d, %q", cmd.ProcessState.ExitCode(), stderr)
	}
}
