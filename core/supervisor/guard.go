package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// guardEnv tells a process that it is a guarded child and that descriptor crashFD takes
// the text of its crash. It is gone from the environment before anything else can see it.
const (
	guardEnv   = "ROWEL_GUARDED"
	crashFD    = 3 // the first of exec.Cmd.ExtraFiles
	farewellFD = 4 // takes one byte: the code with which the child ends
)

// Guarded is what Guard made of a process.
type Guarded struct {
	IsParent bool
	Code     int            // the parent's exit code
	Exit     func(code int) // how the child ends itself, in place of os.Exit
}

// Guard makes a tiny parent of this process, which runs the same command again as its
// child and waits for it. The parent returns with the exit code to use; the child goes
// on.
//
// The reason: Go lets nobody recover a panic in a goroutine of the Raft library, nor a
// fatal error of the runtime. The parent sees such a crash from outside, logs the line
// that every death of the core ends in, and returns crashCode. Otherwise it returns what
// the child returned, or 128 + n if signal n killed it.
//
// The child keeps standard input, output and error, the working directory, the
// environment and the process group. SIGTERM, SIGINT, SIGHUP and SIGQUIT are forwarded;
// the child may see one twice, when it goes to the whole group or control group, and
// must not take a repetition for urgency. When the parent dies the kernel kills the
// child, so that there is never one that nobody watches.
//
// A child that calls Exit and is still there a second later, because the kernel cannot
// let go of a thread that waits for its disk, is left to the kernel.
//
// Call it on the main goroutine, first thing in main.
func Guard(logger hclog.Logger, crashCode int) (Guarded, error) {
	if os.Getenv(guardEnv) != "" {
		return becomeChild()
	}
	code, err := watchOver(logger, crashCode)
	return Guarded{IsParent: true, Code: code}, err
}

// watchOver starts the child and returns the parent's exit code.
func watchOver(logger hclog.Logger, crashCode int) (int, error) {
	// The kernel's death signal follows the thread that made the child, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	child, crash, late, err := startChild()
	if err != nil {
		return 0, fmt.Errorf("start the guarded process: %w", err)
	}
	stopForwarding := forward(signals, child.Process)
	defer stopForwarding()
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case code := <-late:
		return code, nil
	case err = <-ended:
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return 0, fmt.Errorf("wait for the guarded process: %w", err)
	}
	code, crashed := judge(child.ProcessState.Sys().(syscall.WaitStatus), crash.headline())
	if crashed != "" {
		logger.Error(deathMessage, "kind", "crash", "error", crashed)
		code = crashCode
	}
	return code, nil
}

// becomeChild makes the runtime write a crash to the parent's pipe as well as to
// standard error.
func becomeChild() (Guarded, error) {
	if err := os.Unsetenv(guardEnv); err != nil {
		return Guarded{}, err
	}
	for _, fd := range []int{crashFD, farewellFD} {
		var status syscall.Stat_t
		if err := syscall.Fstat(fd, &status); err != nil || status.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return Guarded{}, errors.New(guardEnv + " is set, but nobody guards this process: unset it")
		}
	}
	// SetCrashOutput keeps a duplicate that jobs and other children do not inherit.
	pipe := os.NewFile(crashFD, "crash output")
	defer pipe.Close()
	if err := debug.SetCrashOutput(pipe, debug.CrashOptions{}); err != nil {
		return Guarded{}, fmt.Errorf("set crash output: %w", err)
	}
	syscall.CloseOnExec(farewellFD)
	return Guarded{Exit: exitFunc(os.NewFile(farewellFD, "farewell"))}, nil
}

// startChild runs this very executable again, even if its file has been replaced.
func startChild() (*exec.Cmd, *crashReader, <-chan int, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer writer.Close()
	farewell, farewellWriter, err := os.Pipe()
	if err != nil {
		reader.Close()
		return nil, nil, nil, err
	}
	defer farewellWriter.Close()
	child := &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        os.Args,
		Env:         append(os.Environ(), guardEnv+"=1"),
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		ExtraFiles:  []*os.File{writer, farewellWriter},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := child.Start(); err != nil {
		reader.Close()
		farewell.Close()
		return nil, nil, nil, err
	}
	return child, readCrash(reader), overdue(farewell), nil
}

// forward passes signals on until the returned function is called.
func forward(signals <-chan os.Signal, to *os.Process) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-signals:
				_ = to.Signal(s) // it has ended: Wait tells
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// judge maps the end of a child to an exit code and, if it was a crash of the Go
// runtime, the reason. Exit code 2 without a crash text is the program's own.
func judge(status syscall.WaitStatus, headline string) (code int, crash string) {
	const runtimeCrashed = 2
	if !status.Signaled() {
		if status.ExitStatus() == runtimeCrashed {
			return runtimeCrashed, headline
		}
		return status.ExitStatus(), ""
	}
	switch s := status.Signal(); s {
	case syscall.SIGABRT, syscall.SIGBUS, syscall.SIGSEGV:
		if headline == "" {
			headline = "killed by signal: " + s.String()
		}
		return 128 + int(s), headline
	default:
		return 128 + int(s), ""
	}
}
