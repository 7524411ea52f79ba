package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/wire"
)

// exitInterrupted is what a process exits with that SIGINT ended.
const exitInterrupted = signalBase + int(unix.SIGINT)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Aliases:   []string{"srun"},
		Category:  categoryJobs,
		Usage:     "run a command as a job, with its output here",
		ArgsUsage: "[--] COMMAND [arguments]",
		Description: manual(`Queues a command, shows its output as it comes, and exits as the command did. Interrupting
(Ctrl-C) cancels the job; interrupting again leaves it to itself.`,
			`rowel run -c4 --mem=2G -- make -j4 test`,
			"N the command's own exit code; 128+signal if a signal ended it",
			"1 the job ended otherwise (TIMEOUT, CANCELLED, NODE_FAIL, ...), which is said on standard error",
			exitUsage, "65 the cluster cannot accept what the job asks for", exitUnavailable,
			"130 interrupted twice: the job was left to itself"),
		Flags:  clientFlags(optionFlags(onRun)...),
		Action: runJob,
	}
}

func runJob(c *cli.Context) error {
	payload, err := commandPayload(c, c.Args().Slice())
	if err != nil {
		return err
	}
	r := newRequest()
	if err := r.apply(optionSettings(c, onRun)); err != nil {
		return usageErrorf("%s: %w", commandName(c), err)
	}
	if r.spec.Name == "" {
		r.spec.Name = filepath.Base(payload.Argv[0])
	}
	job, err := r.submission(payload, c.App.ErrWriter)
	if err != nil {
		return usageErrorf("%s: %w", commandName(c), err)
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, unix.SIGINT, unix.SIGTERM)
	defer signal.Stop(interrupts)
	return follow(c.Context, client, job, &attachment{
		stdout: c.App.Writer, stderr: c.App.ErrWriter, interrupts: interrupts, quiet: time.Second,
	})
}

// attachment ties a job to a terminal.
type attachment struct {
	stdout, stderr io.Writer
	interrupts     <-chan os.Signal
	quiet          time.Duration // how long a job may wait before its reason is told
}

// follow submits a job, shows its output and waits for its end, which it returns as the
// exit code of an error. `rowel dev` runs its command with it too.
func follow(ctx context.Context, client *api.Client, job *core.Submission, a *attachment) error {
	ctx, cancel := context.WithCancelCause(ctx)
	a.stderr = &sharedWriter{to: a.stderr}
	ids := make(chan core.JobID, 1)
	var watching sync.WaitGroup
	watching.Go(func() { a.watchInterrupts(ctx, cancel, client, ids) })
	defer watching.Wait()
	defer cancel(nil)

	submitted, err := client.Submit(ctx, api.NewRequestKey(), []core.Submission{*job})
	if err != nil {
		return orInterrupted(ctx, err)
	}
	ref := core.JobRef{ID: submitted.Jobs[0]}
	ids <- ref.ID
	watching.Go(func() { a.explainWaiting(ctx, client, ref) })

	lost := client.Logs(ctx, ref, wire.OutputStream_OUTPUT_STREAM_UNSPECIFIED, true, a.show)
	jobs, err := client.Wait(ctx, ref)
	if err != nil {
		return orInterrupted(ctx, err)
	}
	if lost != nil && !neverRan(jobs) {
		warn(a.stderr, fmt.Sprintf("the output of job %d is lost to us: %v", ref.ID, lost))
	}
	return exitAs(jobs, a.stderr)
}

// neverRan reports whether a job ended before its first instruction: it has no output.
func neverRan(jobs []*core.Job) bool {
	return len(jobs) == 1 && (jobs[0].StartedAt.IsZero() || jobs[0].Reason == core.ReasonJobLaunchFailure)
}

// show writes a piece of output where it belongs.
func (a *attachment) show(stream wire.OutputStream, data []byte) error {
	to := a.stdout
	if stream == wire.OutputStream_OUTPUT_STREAM_STDERR {
		to = a.stderr
	}
	_, err := to.Write(data)
	return err
}

// errDetached is the cause of leaving a job to itself.
var errDetached = errors.New("interrupted")

// orInterrupted returns the exit code of an interruption if there was one, else err.
func orInterrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errDetached) {
		return exitWith(exitInterrupted)
	}
	return err
}

// watchInterrupts cancels the job at the first interrupt and leaves it at the second. An
// interrupt before the job is known to be queued ends the submission.
func (a *attachment) watchInterrupts(ctx context.Context, detach context.CancelCauseFunc, client *api.Client, ids <-chan core.JobID) {
	select {
	case <-ctx.Done():
		return
	case <-a.interrupts:
	}
	select {
	case id := <-ids:
		warn(a.stderr, fmt.Sprintf("cancelling job %d; interrupt again to leave it to itself", id))
		var cancelling sync.WaitGroup
		defer cancelling.Wait()
		cancelling.Go(func() { a.cancelJob(ctx, client, id) })
		select {
		case <-ctx.Done():
		case <-a.interrupts:
			warn(a.stderr, fmt.Sprintf("leaving job %d to itself; \"rowel job show %d\" says what became of it", id, id))
			detach(errDetached)
		}
	default:
		warn(a.stderr, "interrupted while submitting: the job may be queued; \"rowel queue --me\" tells")
		detach(errDetached)
	}
}

func (a *attachment) cancelJob(ctx context.Context, client *api.Client, id core.JobID) {
	outcomes, err := client.Cancel(ctx, []core.JobRef{{ID: id}})
	if err == nil && len(outcomes) > 0 {
		err = outcomes[0]
	}
	if err != nil && ctx.Err() == nil {
		warn(a.stderr, fmt.Sprintf("cannot cancel job %d: %v", id, err))
	}
}

// explainWaiting says why a job has not started, when it has not for a while and
// whenever the reason changes.
func (a *attachment) explainWaiting(ctx context.Context, client *api.Client, ref core.JobRef) {
	ticker := time.NewTicker(a.quiet)
	defer ticker.Stop()
	var told core.Reason
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		jobs, _, err := client.Job(ctx, ref, true)
		if err != nil {
			continue // the call that waits for the job tells
		}
		if len(jobs) == 0 || jobs[0].State != core.JobPending {
			return
		}
		if j := jobs[0]; j.Reason != core.ReasonNone && j.Reason != told {
			told = j.Reason
			warn(a.stderr, fmt.Sprintf("job %s is waiting%s", j.DisplayID(), because(j)))
		}
	}
}

// sharedWriter lets several goroutines write whole pieces to one place.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer // guarded by mu
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
