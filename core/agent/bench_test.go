package agent

import (
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// BenchmarkLaunchTrue runs jobs of /bin/true from launch to acknowledged report, with a
// window of 16 as a full node would have.
func BenchmarkLaunchTrue(b *testing.B) {
	benchmarkJobs(b, core.Payload{Argv: []string{"/bin/true"}}, 16)
}

// BenchmarkLaunchScript is the same with a batch script.
func BenchmarkLaunchScript(b *testing.B) {
	benchmarkJobs(b, script("exit 0"), 16)
}

// BenchmarkLaunchLatency runs one job at a time: launch to report, fork and exec included.
func BenchmarkLaunchLatency(b *testing.B) {
	benchmarkJobs(b, core.Payload{Argv: []string{"/bin/true"}}, 1)
}

func benchmarkJobs(b *testing.B, payload core.Payload, window int) {
	_, s := connected(b)
	template := testJob(b, 1)
	next := core.JobID(1)
	start := time.Now()
	launch := func() {
		job := *template
		job.ID = next
		next++
		s.launch(&job, payload)
	}
	b.ResetTimer()
	for range min(window, b.N) {
		launch()
	}
	for ended := 0; ended < b.N; {
		reports := s.reports()
		s.acknowledge(reports...)
		ended += len(reports)
		for range reports {
			if int(next) <= b.N {
				launch()
			}
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "jobs/s")
}
