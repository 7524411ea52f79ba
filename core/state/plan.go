package state

import "github.com/rowelhq/rowel/core"

// applyPlan admits the starts that still fit, one after another, and notes why the rest
// waits. The plan was made from an older state, by a plugin nobody need trust.
func (e *entry) applyPlan(plan core.Plan) core.Planned {
	var planned core.Planned
	for _, start := range plan.Starts {
		if err := e.admits(start); err != nil {
			planned.Refused = append(planned.Refused, err.Error())
			continue
		}
		planned.Started = append(planned.Started, e.start(start, &plan))
	}
	for _, wait := range plan.Waits {
		e.wait(wait)
	}
	return planned
}

// admits returns why the start may not happen now, in a sentence, or nil.
func (e *entry) admits(start core.Start) error {
	job := e.job(start.Job)
	switch {
	case job == nil:
		return core.Errorf(core.NotFound, "job %d does not exist", start.Job)
	case job.State != core.JobPending:
		return core.Errorf(core.Conflict, "job %s is %s, not pending", job.DisplayID(), job.State)
	case job.Startable() == 0:
		return core.Errorf(core.Conflict, "job %s has %d elements running, its limit", job.DisplayID(), job.ArrayRunning)
	case uint64(len(start.Nodes)) != uint64(job.Spec.Nodes):
		return core.Errorf(core.Invalid, "job %s needs %d nodes, the plan gives it %d",
			job.DisplayID(), job.Spec.Nodes, len(start.Nodes))
	}
	if twice, ok := repeated(start.Nodes); ok {
		return core.Errorf(core.Invalid, "job %s is given node %q twice", job.DisplayID(), twice)
	}
	need := job.Spec.PerNode()
	for _, name := range start.Nodes {
		if err := e.nodeAdmits(name, need); err != nil {
			return core.Errorf(core.KindOf(err), "job %s: %w", job.DisplayID(), err)
		}
	}
	return nil
}

func (e *entry) nodeAdmits(name string, need core.Resources) error {
	node := e.node(name)
	switch {
	case node == nil:
		return core.Errorf(core.NotFound, "node %.80q does not exist", name)
	case !node.Schedulable():
		return core.Errorf(core.Conflict, "node %s is %s", name, node.State())
	case !need.FitsIn(node.Free()):
		return core.Errorf(core.Conflict, "node %s has %v free, the job needs %v", name, node.Free(), need)
	}
	return nil
}

// repeated returns a name that is in the list twice.
func repeated(names []string) (string, bool) {
	if len(names) < 2 {
		return "", false
	}
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, ok := seen[name]; ok {
			return name, true
		}
		seen[name] = struct{}{}
	}
	return "", false
}

// start gives an admitted job its nodes.
func (e *entry) start(start core.Start, plan *core.Plan) core.JobID {
	job := e.job(start.Job)
	if job.ArrayMaster() {
		job = e.takeElement(job.ID, job.ArrayPending.First())
	} else {
		job = e.editJob(job.ID)
	}
	e.transition(job, core.JobRunning)
	job.Reason, job.Message = core.ReasonNone, ""
	job.Attempt++
	job.Policy, job.Cycle = plan.Policy, plan.Cycle
	job.StartedAt = e.at
	need := job.Spec.PerNode()
	job.Placements = make([]core.Placement, 0, len(start.Nodes))
	for _, name := range start.Nodes {
		node := e.editNode(name)
		node.Allocated = node.Allocated.Plus(need)
		node.Jobs++
		job.Placements = append(job.Placements, core.Placement{Node: name, Resources: need})
	}
	e.countRunning(job, +1)
	return job.ID
}

// wait notes why a record still waits, unless it has started, ended or knows already.
func (e *entry) wait(wait core.Wait) {
	job := e.job(wait.Job)
	message := shorten(wait.Message, maxMessageBytes)
	reason := core.Reason(shorten(string(wait.Reason), maxReasonBytes))
	if job == nil || job.State != core.JobPending || job.Reason == reason && job.Message == message {
		return
	}
	job = e.editJob(wait.Job)
	job.Reason, job.Message = reason, message
}
