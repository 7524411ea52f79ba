package state

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/rowelhq/rowel/core"
)

const benchJobs = 1000

// withBacklog returns a replica that already keeps many other jobs and has a hundred nodes.
func withBacklog(b *testing.B, jobs int) *replica {
	r := newReplica(b)
	for i := range 100 {
		r.addNode(fmt.Sprintf("node-%03d", i), 1<<16, 1<<30)
	}
	for range jobs / benchJobs {
		r.submit(specs(benchJobs)...)
	}
	return r
}

func specs(n int) []core.JobSpec {
	specs := make([]core.JobSpec, n)
	for i := range specs {
		specs[i] = job()
	}
	return specs
}

func perJob(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchJobs), "ns/job")
}

func BenchmarkApplySubmit(b *testing.B) {
	for _, backlog := range []int{0, 100_000} {
		b.Run(fmt.Sprint("backlog=", backlog), func(b *testing.B) {
			r := withBacklog(b, backlog)
			for b.Loop() {
				b.StopTimer()
				var commands []core.Command
				for range benchJobs {
					r.keys++
					commands = append(commands, submission(fmt.Sprint("key-", r.keys), job()))
				}
				entry := encode(b, commands...)
				r.index++
				b.StartTimer()
				if _, err := r.Apply(r.index, start, entry); err != nil {
					b.Fatal(err)
				}
			}
			perJob(b)
		})
	}
}

func BenchmarkApplyPlanAndReports(b *testing.B) {
	for _, backlog := range []int{0, 100_000} {
		b.Run(fmt.Sprint("backlog=", backlog), func(b *testing.B) {
			r := withBacklog(b, backlog)
			for b.Loop() {
				b.StopTimer()
				jobs := r.submit(specs(benchJobs)...)
				var plan core.Plan
				var reports core.ReportJobs
				for i, id := range jobs {
					plan.Starts = append(plan.Starts, core.Start{Job: id, Nodes: []string{fmt.Sprintf("node-%03d", i%100)}})
					reports.Reports = append(reports.Reports, core.JobReport{Job: id, Attempt: 1, State: core.JobCompleted})
				}
				b.StartTimer()
				if got := one[core.Planned](r, core.ApplyPlan{Plan: plan}); len(got.Started) != benchJobs {
					b.Fatal(got.Refused)
				}
				one[core.Reported](r, reports)
			}
			perJob(b)
		})
	}
}

func BenchmarkSnapshotAndRestore(b *testing.B) {
	r := withBacklog(b, 100_000)
	data := snapshot(b, r.Store)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			taken, err := r.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := taken.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := New().Restore(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkViewJob(b *testing.B) {
	r := withBacklog(b, 100_000)
	v := r.View()
	for b.Loop() {
		if v.Job(50_000) == nil {
			b.Fatal("lost")
		}
	}
}
