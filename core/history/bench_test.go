package history_test

import (
	"fmt"
	"testing"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/history"
)

// fillWith returns a history of n jobs of a hundred users.
func fillWith(tb testing.TB, n int) *history.History {
	c, h := newCluster(tb), openNew(tb)
	var submission core.SubmitJobs
	var plan core.Plan
	var reports core.ReportJobs
	for i := range n {
		spec := core.JobSpec{
			Name: "job", User: fmt.Sprintf("user-%d", i%100), Partition: core.DefaultPartition,
			Nodes: 1, Tasks: 1, CPUsPerTask: 1, WorkDir: "/home/user/project", Output: "slurm-%j.out",
		}
		id := core.JobID(i + 1)
		submission.Jobs = append(submission.Jobs, core.Submission{Spec: spec, Payload: core.Payload{Argv: []string{"true"}}})
		plan.Starts = append(plan.Starts, core.Start{Job: id, Nodes: []string{"n1"}})
		reports.Reports = append(reports.Reports, core.JobReport{Job: id, Attempt: 1, State: core.JobCompleted})
	}
	submission.RequestKey = "all"
	c.apply(submission)
	c.apply(core.ApplyPlan{Plan: plan})
	c.apply(reports)
	followTo(tb, h, c)
	return h
}

func BenchmarkQueryOf10000(b *testing.B) {
	h := fillWith(b, 10_000)
	for name, filter := range map[string]history.Filter{
		"newest-100": {Limit: 100},
		"one-user":   {Users: []string{"user-7"}},
		"one-id":     {IDs: []core.JobID{5000}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				query(b, h, filter)
			}
		})
	}
}

func BenchmarkFollow10000(b *testing.B) {
	for b.Loop() {
		fillWith(b, 10_000)
	}
}
