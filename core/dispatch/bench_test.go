package dispatch_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/rowelhq/rowel/core"
)

// BenchmarkThousandAgents passes 10,000 jobs through 1,000 sessions: launched, reported,
// applied, acknowledged. The log is the state store itself, without a disk.
func BenchmarkThousandAgents(b *testing.B) {
	const agents, jobs = 1000, 10_000
	r := newRoom(b)
	defer r.stop()
	var fleet []*agent
	var acked sync.WaitGroup
	var served sync.WaitGroup
	for i := range agents {
		a := r.connectWhenLed(fmt.Sprintf("n%d", i))
		fleet = append(fleet, a)
		served.Go(func() { a.runAll(&acked) })
	}
	for b.Loop() {
		b.StopTimer()
		plan := core.Plan{Policy: "test@1"}
		submit := core.SubmitJobs{RequestKey: fmt.Sprint("key-", r.store.View().Index())}
		for range jobs {
			spec := core.JobSpec{Name: "j", User: "ada", Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1}
			submit.Jobs = append(submit.Jobs, core.Submission{Spec: spec, Payload: core.Payload{Argv: []string{"/bin/true"}}})
		}
		for i, id := range r.apply(submit).(core.Submitted).Jobs {
			plan.Starts = append(plan.Starts, core.Start{Job: id, Nodes: []string{fmt.Sprintf("n%d", i%agents)}})
		}
		before := len(r.proposed())
		acked.Add(jobs)
		b.StartTimer()
		r.apply(core.ApplyPlan{Plan: plan})
		acked.Wait()
		b.ReportMetric(float64(len(r.proposed())-before), "proposals")
	}
	b.ReportMetric(jobs*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	for _, a := range fleet {
		a.Abort()
	}
	served.Wait()
}

// connectWhenLed is connect outside a bubble, where Run may not have begun.
func (r *room) connectWhenLed(node string) *agent {
	for r.Sessions() == 0 {
		a := r.dial(node, "a")
		select {
		case <-a.down:
			return a
		case <-a.ended:
			runtime.Gosched()
		}
	}
	return r.connect(node, "a")
}

// runAll reports the end of each job as soon as it is launched, until the stream closes.
func (a *agent) runAll(acked *sync.WaitGroup) {
	for {
		select {
		case <-a.closed:
			<-a.ended
			return
		case message := <-a.down:
			if launch := message.GetLaunch(); launch != nil {
				a.report(core.JobCompleted, core.JobID(launch.GetJob().GetId()))
			}
			acked.Add(-len(message.GetAck().GetJobs()))
		}
	}
}

// BenchmarkRouteOneChange is the cost, to 1,000 connected agents, of a job of one.
func BenchmarkRouteOneChange(b *testing.B) {
	r := newRoom(b)
	defer r.stop()
	first := r.connectWhenLed("n0")
	fleet := []*agent{first}
	for i := 1; i < 1000; i++ {
		fleet = append(fleet, r.connect(fmt.Sprintf("n%d", i), "a"))
	}
	for b.Loop() {
		b.StopTimer()
		id := r.submit(1)
		plan := core.ApplyPlan{Plan: core.Plan{Starts: []core.Start{{Job: id, Nodes: []string{"n0"}}}}}
		b.StartTimer()
		r.apply(plan)
		first.launched()
		b.StopTimer()
		first.report(core.JobCompleted, id)
		first.acked()
		b.StartTimer()
	}
	for _, a := range fleet {
		if err := a.hangUp(); err != nil {
			b.Error(err)
		}
	}
}
