package dispatch

import (
	"context"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// router tells sessions what the state wants of their agents. It is one goroutine: it
// sees views in order, and only it adds to the sessions' ledgers, so a decision made
// from an older view can never follow one made from a newer. It touches only the
// sessions of jobs that changed, and waits for none.
type router struct {
	tenure  *tenure
	index   uint64                  // of the last view looked at
	joined  map[string]*session     // by node; possibly over
	holders map[core.JobID]*session // whose ledger has the job; possibly over
}

func newRouter(t *tenure) *router {
	return &router{tenure: t, joined: make(map[string]*session), holders: make(map[core.JobID]*session)}
}

// run follows the state until ctx is done.
func (r *router) run(ctx context.Context) {
	r.index = r.tenure.view().Index() // nobody has joined: there is nothing to say yet
	for {
		view := r.tenure.view()
		r.follow(view)
		select {
		case <-ctx.Done():
			return
		case join := <-r.tenure.joining:
			r.reconcile(join)
		case <-view.Changed():
		}
	}
}

// follow looks at what changed since the last view.
func (r *router) follow(view *state.View) {
	if view.Index() < r.index { // restored from a backup: what agents know may be untrue
		r.tenure.endAll(core.Errorf(core.Unavailable, "the cluster's state was restored from a backup: connect again"))
		clear(r.joined)
		clear(r.holders)
	} else {
		for job := range view.JobsModifiedSince(r.index) {
			r.observe(view, job)
		}
	}
	r.index = view.Index()
	r.tenure.routed.reach(r.index)
}

// reconcile brings together what a newly connected agent has and what the state wants
// of it. What the state does not hold as running there, agents must end: it was given
// up for lost, or is unknown. Its report is acknowledged when it comes, without effect.
func (r *router) reconcile(join joining) {
	s := join.session
	if r.tenure.session(s.node) != s {
		return // a newer connection of the node has its place
	}
	view := r.tenure.view()
	r.joined[s.node] = s
	for _, run := range join.running {
		job := view.Job(run.job)
		if job == nil || !job.State.Allocated() || job.Attempt != run.number || firstNode(job) != s.node {
			s.push(terminate(run, "the cluster does not hold this attempt as running here"))
			continue
		}
		r.note(s, job, launched)
	}
	for job := range view.JobsOn(s.node) {
		r.observe(view, job)
	}
}

// observe compares one job with what agents were told about it, and tells them the rest.
func (r *router) observe(view *state.View, job *core.Job) {
	r.settle(job)
	s := r.joined[firstNode(job)]
	if s == nil || !job.State.Allocated() {
		return
	}
	standing := s.ledger.of(job)
	switch {
	case job.State != core.JobCompleting && standing == 0:
		r.launch(s, view, job)
	case job.State == core.JobCompleting && standing == launched:
		s.push(terminate(attempt{job.ID, job.Attempt}, why(job)))
		r.note(s, job, terminating)
	case job.State == core.JobCompleting && standing == 0:
		// The agent lists all it ever received, so it never heard of this one and never
		// will: nobody else can say that it is over.
		r.giveUp(s, job, core.JobReport{State: core.JobCancelled, Message: "ended before its node was told to start it"})
	}
}

// settle closes the account of an attempt that the state no longer holds as running: it
// is over, or the job was queued again. If the agent did not say so itself it still runs
// it, as after NODE_FAIL, and must end it.
func (r *router) settle(job *core.Job) {
	holder := r.holders[job.ID]
	if holder == nil {
		return
	}
	entry := holder.ledger.entry(job.ID)
	if job.State.Allocated() && job.Attempt == entry.attempt {
		return
	}
	if entry.standing == launched {
		holder.push(terminate(attempt{job.ID, entry.attempt}, why(job)))
	}
	holder.ledger.remove(job.ID)
	delete(r.holders, job.ID)
}

// note writes down what an agent now knows of a job.
func (r *router) note(s *session, job *core.Job, standing standing) {
	s.ledger.set(job.ID, told{job.Attempt, standing})
	r.holders[job.ID] = s
}

// launch tells an agent to run a job. One that has run this attempt before, and whose
// memory of it is longer than ours, answers with its report instead.
func (r *router) launch(s *session, view *state.View, job *core.Job) {
	payload := view.Payload(job.ID)
	if payload == nil {
		r.giveUp(s, job, core.JobReport{State: core.JobBootFail, Reason: core.ReasonJobLaunchFailure, Message: "what it runs is not in the state"})
		return
	}
	r.note(s, job, launched)
	s.push(&wire.ControllerMessage{Kind: &wire.ControllerMessage_Launch{Launch: &wire.Launch{
		Job: wire.FromJob(job), Payload: wire.FromPayload(payload),
	}}})
}

// giveUp reports the end of an attempt in the place of an agent that never had it.
func (r *router) giveUp(s *session, job *core.Job, report core.JobReport) {
	report.Job, report.Attempt = job.ID, job.Attempt
	r.note(s, job, reported)
	if !r.tenure.reports.add(report, nil) {
		s.end(errTooManyReports()) // the next session comes to the same point
	}
}

// firstNode returns where the job's script runs, empty before it is placed.
func firstNode(job *core.Job) string {
	if len(job.Placements) == 0 {
		return ""
	}
	return job.Placements[0].Node
}

// why says in words why a job must end.
func why(job *core.Job) string {
	if job.CancelledBy != "" {
		return "cancelled by " + job.CancelledBy
	}
	if job.Message != "" {
		return job.Message
	}
	return "the job is " + job.State.String()
}

func terminate(a attempt, why string) *wire.ControllerMessage {
	return &wire.ControllerMessage{Kind: &wire.ControllerMessage_Terminate{Terminate: &wire.Terminate{
		Job: uint64(a.job), Attempt: a.number, Why: why,
	}}}
}
