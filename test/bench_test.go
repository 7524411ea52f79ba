package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// BenchmarkSubmit measures durable submissions through the API of real controllers, one
// job a request, from so many clients at once. xR is the rate as a multiple of R, what
// the same disk does of bare fdatasync at the same time. docs/benchmarks.md has the
// figures.
func BenchmarkSubmit(b *testing.B) {
	for _, controllers := range []int{1, 3} {
		for _, clients := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("replicas=%d/clients=%d", controllers, clients), func(b *testing.B) {
				c := newCluster(b, controllers, "")
				job := c.script("bench", "true")
				leader, err := api.NewClient([]string{c.leader().api}, 30*time.Second)
				if err != nil {
					b.Fatal(err)
				}
				defer leader.Close()
				latencies := make([]time.Duration, b.N)
				var next atomic.Int64
				var group sync.WaitGroup
				b.ResetTimer()
				for range clients {
					group.Go(func() {
						for {
							i := next.Add(1) - 1
							if i >= int64(b.N) {
								return
							}
							began := time.Now()
							if _, err := leader.Submit(context.Background(), api.NewRequestKey(), []core.Submission{job}); err != nil {
								b.Error(err)
								return
							}
							latencies[i] = time.Since(began)
						}
					})
				}
				group.Wait()
				b.StopTimer()
				report(b, "submits/s", latencies)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/syncRate(b, c.dir), "xR")
			})
		}
	}
}

// BenchmarkTrueJobs measures jobs of /bin/true from submission to their durable end,
// with real processes on one agent of eight slots.
func BenchmarkTrueJobs(b *testing.B) {
	c := newCluster(b, 1, "")
	c.addAgent("n1", 8)
	job := c.script("true", "")
	job.Payload = core.Payload{Argv: []string{"/bin/true"}}
	b.ResetTimer()
	var ids []core.JobID
	for left := b.N; left > 0; {
		batch := min(left, 500)
		ids = append(ids, c.submit(slices.Repeat([]core.Submission{job}, batch)...)...)
		left -= batch
	}
	for _, id := range ids {
		c.finish(id, 5*time.Minute)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkSubmitToStart measures one job at a time on an idle cluster: from the call that
// submits it until its process runs (start), and until its end is known to who waits (end).
func BenchmarkSubmitToStart(b *testing.B) {
	c := newCluster(b, 1, "")
	c.addAgent("n1", 2)
	job := c.script("clock", "")
	job.Payload = core.Payload{Argv: []string{"/bin/date", "+%s%N"}}
	job.Spec.Output = "start-%j"
	started, ended := make([]time.Duration, b.N), make([]time.Duration, b.N)
	b.ResetTimer()
	for i := range b.N {
		began := time.Now()
		id := c.submit(job)[0]
		c.finish(id, time.Minute)
		ended[i], started[i] = time.Since(began), c.clockOf(id).Sub(began)
	}
	b.StopTimer()
	slices.Sort(started)
	b.ReportMetric(milliseconds(started[len(started)/2]), "start-p50-ms")
	b.ReportMetric(milliseconds(started[len(started)*99/100]), "start-p99-ms")
	report(b, "jobs/s", ended)
}

// clockOf returns the time that a job of BenchmarkSubmitToStart saw when it ran.
func (c *cluster) clockOf(id core.JobID) time.Time {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("start-%d", id)))
	if err != nil {
		c.t.Fatal(err)
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return time.Unix(0, nanoseconds)
}

func report(b *testing.B, unit string, latencies []time.Duration) {
	slices.Sort(latencies)
	b.ReportMetric(float64(len(latencies))/b.Elapsed().Seconds(), unit)
	b.ReportMetric(milliseconds(latencies[len(latencies)/2]), "p50-ms")
	b.ReportMetric(milliseconds(latencies[len(latencies)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// syncRate returns how often a second a file of the directory can be appended to and
// synced: the rate R of a log that waits for the disk once an entry.
func syncRate(b *testing.B, dir string) float64 {
	b.Helper()
	file, err := os.CreateTemp(dir, "sync")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	page := make([]byte, 4096)
	count, began := 0, time.Now()
	for ; time.Since(began) < time.Second; count++ {
		if _, err := file.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	return float64(count) / time.Since(began).Seconds()
}
