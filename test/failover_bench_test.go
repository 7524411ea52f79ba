package test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// BenchmarkFailover measures how long a client that knows all three controllers waits
// for its next acknowledged write after the leader was killed, or handed leadership over
// because it was asked to stop.
func BenchmarkFailover(b *testing.B) {
	ways := map[string]func(*replica){
		"kill": func(r *replica) { r.kill() },
		"stop": func(r *replica) { r.stop() },
	}
	for name, end := range ways {
		b.Run(name, func(b *testing.B) {
			c := newCluster(b, 3, "")
			job := c.script("probe", "true")
			waits := make([]time.Duration, b.N)
			b.ResetTimer()
			for i := range b.N {
				leader := c.leader()
				began := time.Now()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					end(leader)
				}()
				waits[i] = c.longestWait(began, job)
				<-ended
				leader.start()
				eventually(b, 30*time.Second, leader.name+" is ready again", leader.ready)
			}
			b.StopTimer()
			slices.Sort(waits)
			b.ReportMetric(milliseconds(waits[0]), "min-ms")
			b.ReportMetric(milliseconds(waits[len(waits)/2]), "p50-ms")
			b.ReportMetric(milliseconds(waits[len(waits)-1]), "max-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// longestWait goes on submitting for three seconds and returns the longest time between
// two acknowledgements.
func (c *cluster) longestWait(began time.Time, job core.Submission) time.Duration {
	c.t.Helper()
	longest, last := time.Duration(0), began
	for time.Since(began) < 3*time.Second {
		if _, err := c.client.Submit(context.Background(), api.NewRequestKey(), []core.Submission{job}); err != nil {
			c.t.Fatal(err)
		}
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	return longest
}
