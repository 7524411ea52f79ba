package consensus

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPropose measures durable proposals a second of 256 bytes, on the disk of the
// temporary directory; three servers share it, and the cores.
func BenchmarkPropose(b *testing.B) {
	for _, servers := range []int{1, 3} {
		for _, proposers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("servers=%d/proposers=%d", servers, proposers), func(b *testing.B) {
				benchmarkPropose(b, servers, proposers)
			})
		}
	}
}

func benchmarkPropose(b *testing.B, servers, proposers int) {
	var nodes []*node
	ordinary := func(c *Config) { c.Timing = Timing{Poll: 20 * time.Millisecond} }
	if servers == 1 {
		cfg := config(b, "solo")
		ordinary(&cfg)
		nodes = []*node{open(b, cfg)}
	} else {
		nodes = trioOf(b, ordinary)
	}
	leader := leaderOf(b, nodes)
	command := say(string(make([]byte, 256)))
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	before := leader.journal.entries()
	b.ResetTimer()
	for range proposers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := leader.Propose(b.Context(), command); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proposals/s")
	b.ReportMetric(float64(b.N)/float64(leader.journal.entries()-before), "commands/entry")
}

// BenchmarkBarrier measures linearizable reads a second.
func BenchmarkBarrier(b *testing.B) {
	for _, readers := range []int{1, 64} {
		b.Run(fmt.Sprintf("servers=3/readers=%d", readers), func(b *testing.B) {
			nodes := trioOf(b, func(c *Config) { c.Timing = Timing{Poll: 20 * time.Millisecond} })
			leader := leaderOf(b, nodes)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range readers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := leader.Barrier(b.Context()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "barriers/s")
		})
	}
}
