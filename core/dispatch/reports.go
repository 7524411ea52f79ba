package dispatch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	maxBatch          = 1000    // reports in one command
	maxWaitingReports = 100_000 // of all sessions together
	proposeTimeout    = 30 * time.Second
	firstRetry        = 100 * time.Millisecond
	lastRetry         = 5 * time.Second
)

// reports gathers what all agents report into commands. One command is under way at any
// time; what comes meanwhile makes the next, so an idle cluster waits for nothing and a
// busy one writes few entries.
type reports struct {
	proposer Proposer
	logger   hclog.Logger
	ready    chan struct{} // holds a token while something may wait

	mu      sync.Mutex
	waiting []filed // guarded by mu
}

// filed is a report and the session to tell when it is durable; nil: nobody.
type filed struct {
	report core.JobReport
	from   *session
}

func newReports(proposer Proposer, logger hclog.Logger) *reports {
	return &reports{proposer: proposer, logger: logger, ready: make(chan struct{}, 1)}
}

// add files a report and returns whether there was room. It does not block.
func (r *reports) add(report core.JobReport, from *session) bool {
	r.mu.Lock()
	full := len(r.waiting) >= maxWaitingReports
	if !full {
		r.waiting = append(r.waiting, filed{report, from})
	}
	r.mu.Unlock()
	r.wake()
	return !full
}

func (r *reports) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// take returns the oldest reports, at most a batch of them.
func (r *reports) take() []filed {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), maxBatch)
	batch := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if len(r.waiting) == 0 {
		r.waiting = nil // frees what the batches were cut from
	} else {
		r.wake()
	}
	return batch
}

// run proposes what is filed until ctx is done. What is not durable by then is not
// acknowledged either: agents report it again to the next leader.
func (r *reports) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ready:
		}
		if batch := r.take(); len(batch) > 0 {
			r.settle(ctx, batch)
		}
	}
}

// settle proposes a batch until it is in, and acknowledges it.
func (r *reports) settle(ctx context.Context, batch []filed) {
	command := core.ReportJobs{Reports: make([]core.JobReport, 0, len(batch))}
	for _, f := range batch {
		command.Reports = append(command.Reports, f.report)
	}
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		err := r.propose(ctx, command)
		switch {
		case err == nil:
			acknowledge(batch)
			return
		case ctx.Err() != nil:
			return
		case core.KindOf(err) == core.Invalid:
			r.divide(ctx, batch, err)
			return
		}
		r.logger.Warn("reports of jobs are not replicated yet", "error", err, "jobs", len(batch), "duration", retry)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry/2 + rand.N(retry/2)):
		}
	}
}

func (r *reports) propose(ctx context.Context, command core.ReportJobs) error {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	_, err := r.proposer.Propose(ctx, command)
	return err
}

// divide finds the report for which a batch was refused, so that it holds up no other.
// Its agent is told by the end of its session.
func (r *reports) divide(ctx context.Context, batch []filed, cause error) {
	if half := len(batch) / 2; half > 0 {
		r.settle(ctx, batch[:half])
		r.settle(ctx, batch[half:])
		return
	}
	r.logger.Error("report of a job refused", "job", batch[0].report.Job, "attempt", batch[0].report.Attempt, "error", cause)
	if s := batch[0].from; s != nil {
		s.end(core.Errorf(core.Invalid, "report of job %d refused: %w", batch[0].report.Job, cause))
	}
}

// acknowledge tells each session, in one message, which of its reports are durable.
func acknowledge(batch []filed) {
	acks := make(map[*session][]*wire.RunningJob)
	for _, f := range batch {
		if f.from != nil {
			acks[f.from] = append(acks[f.from], &wire.RunningJob{Job: uint64(f.report.Job), Attempt: f.report.Attempt})
		}
	}
	for s, jobs := range acks {
		s.push(ack(jobs))
	}
}

func ack(jobs []*wire.RunningJob) *wire.ControllerMessage {
	return &wire.ControllerMessage{Kind: &wire.ControllerMessage_Ack{Ack: &wire.ReportsAck{Jobs: jobs}}}
}

// takeReports files what an agent reports. What is about an attempt that the state knows
// to be over, or that ran elsewhere, is acknowledged at once and has no effect.
func (s *session) takeReports(messages []*wire.JobReport) error {
	view := s.tenure.view()
	var late []*wire.RunningJob
	for _, message := range messages {
		report, err := wire.ToReport(message)
		if err == nil && !report.State.Terminal() {
			err = core.Errorf(core.Invalid, "%s is no end", report.State)
		}
		if err != nil {
			return core.Errorf(core.Invalid, "node %s reports on job %d: %w", s.node, message.GetJob(), err)
		}
		if s.isLate(view.Job(report.Job), report) {
			late = append(late, &wire.RunningJob{Job: message.GetJob(), Attempt: message.GetAttempt()})
			continue
		}
		s.ledger.markReported(attempt{report.Job, report.Attempt})
		if !s.tenure.reports.add(report, s) {
			return errTooManyReports()
		}
	}
	if len(late) > 0 {
		s.push(ack(late))
	}
	return nil
}

// isLate reports whether the state is done with what a report is about. The view has
// everything that was committed before the session began, so what is over in it, or
// younger, can never become current again. Where the view knows less than the report,
// the state machine decides.
func (s *session) isLate(job *core.Job, report core.JobReport) bool {
	switch {
	case job == nil || job.Attempt < report.Attempt:
		return false
	case job.Attempt > report.Attempt || !job.State.Allocated():
		return true
	case firstNode(job) != s.node:
		s.tenure.logger.Warn("a node reports on another node's job", "node", s.node, "job", report.Job, "attempt", report.Attempt)
		return true
	}
	return false
}

func errTooManyReports() error {
	return core.Errorf(core.Exhausted, "%d reports of jobs wait to be replicated: connect again later", maxWaitingReports)
}
