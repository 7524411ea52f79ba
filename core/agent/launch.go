package agent

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// job is one attempt that runs here. Its goroutine, Agent.run, starts it, waits for it
// and reports it; others only ask it to stop.
type job struct {
	key     jobKey
	info    *core.Job
	payload *core.Payload
	done    chan struct{} // closed when it is over and its end is in the outbox

	mu      sync.Mutex // guards stopped and process
	stopped *core.JobReport
	process *process // nil: not started yet
}

// newJob checks a launch as far as running it goes. The key is good if the message has
// one, even when the rest is not.
func newJob(launch *wire.Launch) (*job, error) {
	j := &job{
		key:     jobKey{id: core.JobID(launch.GetJob().GetId()), attempt: launch.GetJob().GetAttempt()},
		payload: wire.ToPayload(launch.GetPayload()),
		done:    make(chan struct{}),
	}
	var err error
	if j.info, err = wire.ToJob(launch.GetJob()); err != nil {
		return j, err
	}
	if j.info.Spec.Nodes == 0 || j.info.ArrayMaster() {
		return j, core.Errorf(core.Invalid, "job %s is not one that can run", j.key)
	}
	return j, j.payload.Validate()
}

// launch takes a job on, unless it was taken on before, and returns at once.
func (a *Agent) launch(launch *wire.Launch) {
	j, invalid := newJob(launch)
	if j.key.id == 0 {
		a.logger.Error("the controller launched a job without a number", "error", invalid)
		return
	}
	older, admitted := a.registry.admit(j)
	if !admitted {
		a.logger.Debug("launch ignored", "job", j.key.id, "attempt", j.key.attempt)
		return
	}
	for _, other := range older {
		a.stop(other, core.JobReport{
			State:   core.JobCancelled,
			Message: fmt.Sprintf("attempt %d took its place", j.key.attempt),
		})
	}
	go func() {
		defer a.registry.over(j)
		a.finish(j.key, a.run(j, invalid))
	}()
}

// run carries an attempt from its record to its end.
func (a *Agent) run(j *job, invalid error) core.JobReport {
	if err := a.spool.begin(j.key); err != nil {
		return launchFailure(err)
	}
	if invalid != nil {
		return launchFailure(invalid)
	}
	p, err := a.start(j)
	if err != nil {
		return launchFailure(err)
	}
	if p == nil {
		return *j.stopped // before it began; nothing changes it any more
	}
	mark := recordLine{Process: &recordProcess{PID: p.pid, Start: p.start, Boot: a.boot}}
	if err := a.spool.append(j.key, mark); err != nil {
		a.logger.Warn("spool record not updated", "job", j.key.id, "attempt", j.key.attempt, "error", err)
	}
	a.logger.Debug("job started", "job", j.key.id, "attempt", j.key.attempt, "pid", p.pid)
	if limit := j.info.Spec.TimeLimit; limit != core.Unlimited {
		timer := time.AfterFunc(limit, func() { j.stop(a.killWait, timeLimitReached(limit)) })
		defer timer.Stop()
	}
	p.awaitExit()
	status, stuck, err := p.end()
	if stuck > 0 {
		a.logger.Error("processes survived SIGKILL", "job", j.key.id, "attempt", j.key.attempt, "processes", stuck)
	}
	return j.ending(status, err)
}

// finish makes the end of an attempt known: first in the spool, then to the leader.
func (a *Agent) finish(key jobKey, report core.JobReport) {
	report.Job, report.Attempt = key.id, key.attempt
	if err := a.spool.append(key, endLine(report)); err != nil {
		a.logger.Warn("end not kept in the spool", "job", key.id, "attempt", key.attempt, "error", err)
	}
	a.outbox.add(report)
	a.logger.Debug("job ended", "job", key.id, "attempt", key.attempt, "state", report.State.String())
}

// stop tells a job to end and does not wait: finding its processes takes a look at all
// of the machine's, which those who are told together share.
func (a *Agent) stop(j *job, report core.JobReport) {
	a.stops.Go(func() { j.stop(a.killWait, report) })
}

// stop tells the job to end; its report will be the given one with the exit status
// added. The first to call decides. It does not wait for the end.
func (j *job) stop(killWait time.Duration, report core.JobReport) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped != nil {
		return
	}
	j.stopped = &report
	if j.process != nil {
		j.process.terminate(killWait)
	}
}

// ending tells what an attempt that ran came to.
func (j *job) ending(status syscall.WaitStatus, err error) core.JobReport {
	j.mu.Lock()
	defer j.mu.Unlock()
	var report core.JobReport
	switch {
	case err != nil:
		return core.JobReport{State: core.JobFailed, Message: err.Error()}
	case status.Signaled():
		report = core.JobReport{
			State: core.JobFailed, Reason: core.ReasonRaisedSignal, Signal: int32(status.Signal()),
			Message: "ended by " + unix.SignalName(status.Signal()),
		}
	case status.ExitStatus() != 0:
		report = core.JobReport{
			State: core.JobFailed, Reason: core.ReasonNonZeroExitCode, ExitCode: int32(status.ExitStatus()),
		}
	default:
		report = core.JobReport{State: core.JobCompleted}
	}
	if j.stopped != nil {
		report.State, report.Reason, report.Message = j.stopped.State, j.stopped.Reason, j.stopped.Message
	}
	return report
}

func launchFailure(err error) core.JobReport {
	return core.JobReport{State: core.JobFailed, Reason: core.ReasonJobLaunchFailure, Message: err.Error()}
}

func timeLimitReached(limit time.Duration) core.JobReport {
	return core.JobReport{
		State: core.JobTimeout, Reason: core.ReasonTimeLimit,
		Message: fmt.Sprintf("it reached its time limit of %v", limit),
	}
}
