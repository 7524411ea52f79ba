package main

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// signalBase is what shells add to the number of the signal that ended a process.
const signalBase = 128

// jobExitCode returns what a process that stands for a job exits with: the job's own
// code, 128+signal if a signal ended it, and 1 for every other end that is no success.
func jobExitCode(j *core.Job) int {
	switch {
	case j.State == core.JobCompleted:
		return core.ExitOK
	case j.State == core.JobFailed && j.Signal != 0:
		return signalBase + int(j.Signal)
	case j.State == core.JobFailed && j.ExitCode != 0:
		return int(j.ExitCode)
	}
	return core.ExitFailure
}

// jobEnd tells how a job ended that did not run to an end of its own, empty if it did.
func jobEnd(j *core.Job) string {
	switch {
	case j.State == core.JobCompleted, j.State == core.JobFailed && j.Signal == 0 && j.Reason == core.ReasonNonZeroExitCode:
		return ""
	case j.State == core.JobFailed && j.Signal != 0:
		return fmt.Sprintf("job %s was ended by signal %d (%s)", j.DisplayID(), j.Signal, unix.SignalName(unix.Signal(j.Signal)))
	}
	text := fmt.Sprintf("job %s ended as %s", j.DisplayID(), j.State)
	if j.State == core.JobCancelled && j.CancelledBy != "" {
		return text + " by " + j.CancelledBy
	}
	return text + because(j)
}

// because gives a job's reason and message, as far as there are any.
func because(j *core.Job) string {
	switch {
	case j.Reason == core.ReasonNone && j.Message == "":
		return ""
	case j.Message == "":
		return fmt.Sprintf(": %s", j.Reason)
	case j.Reason == core.ReasonNone:
		return ": " + j.Message
	}
	return fmt.Sprintf(": %s (%s)", j.Reason, j.Message)
}

// exitAs returns the highest exit code of jobs that are over as an error, having told on
// stderr about those that did not end by themselves.
func exitAs(jobs []*core.Job, stderr io.Writer) error {
	code := core.ExitOK
	for _, j := range jobs {
		code = max(code, jobExitCode(j))
		if text := jobEnd(j); text != "" {
			warn(stderr, text)
		}
	}
	return exitWith(code)
}

// waitFor blocks until a job, or every element of an array, is over and exits as it did.
func waitFor(ctx context.Context, client *api.Client, ref core.JobRef, stderr io.Writer) error {
	jobs, err := client.Wait(ctx, ref)
	if err != nil {
		return err
	}
	return exitAs(jobs, stderr)
}

// waitAll blocks until every job is over and returns the records.
func waitAll(ctx context.Context, client *api.Client, refs []core.JobRef) ([]*core.Job, error) {
	var jobs []*core.Job
	for _, ref := range refs {
		ended, err := client.Wait(ctx, ref)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, ended...)
	}
	return jobs, nil
}
