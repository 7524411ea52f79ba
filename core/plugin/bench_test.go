package plugin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core/plugin/meter"
	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/backfill"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

// sizes are the clusters that are measured: how many nodes and pending jobs, and how
// much of the nodes is in use. At 1 nothing can start; at 0 the cluster fills.
var sizes = []struct {
	nodes, jobs int
	load        float64
}{{1000, 10_000, 1}, {1000, 10_000, 0.7}, {1000, 10_000, 0}, {5000, 1000, 0.7}, {5000, 1000, 0}, {10_000, 100_000, 0.7}}

func eachSize(b *testing.B, run func(b *testing.B, p *abi.Picture)) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d/load=%v", s.nodes, s.jobs, s.load), func(b *testing.B) {
			run(b, sdktest.Synthetic(1, s.nodes, s.jobs, s.load))
		})
	}
}

// BenchmarkCycle runs the embedded policy in the host and the same code natively, in
// turn, and reports both and their ratio.
func BenchmarkCycle(b *testing.B) {
	policy := load(b, Embedded(), Limits{Memory: 1 << 30})
	eachSize(b, func(b *testing.B, p *abi.Picture) {
		var guest, native time.Duration
		rounds := 0
		for b.Loop() {
			began := time.Now()
			if _, err := policy.Cycle(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			sdk.Run(backfill.EASY, p)
			guest += middle.Sub(began)
			native += time.Since(middle)
			rounds++
		}
		b.ReportMetric(float64(guest.Microseconds())/1000/float64(rounds), "ms/wasm")
		b.ReportMetric(float64(native.Microseconds())/1000/float64(rounds), "ms/native")
		b.ReportMetric(float64(guest)/float64(native), "wasm/native")
	})
}

// BenchmarkMetering runs the embedded policy with and without a fuel counter, in turn,
// and reports the ratio.
func BenchmarkMetering(b *testing.B) {
	metered := load(b, Embedded(), Limits{Memory: 1 << 30})
	plain := loadUnmetered(b, Embedded(), Limits{Memory: 1 << 30})
	eachSize(b, func(b *testing.B, p *abi.Picture) {
		var with, without time.Duration
		for b.Loop() {
			began := time.Now()
			if _, err := metered.Cycle(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			if _, err := plain.Cycle(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			with += middle.Sub(began)
			without += time.Since(middle)
		}
		b.ReportMetric(float64(with)/float64(without), "metered/plain")
		b.ReportMetric(float64(metered.Stats().LastFuel)/1e6, "Munits")
	})
}

// loadUnmetered loads a module as it is: nothing would stop it.
func loadUnmetered(b *testing.B, module []byte, limits Limits) *Plugin {
	limits, err := limits.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	p := newPlugin("", limits, hclog.NewNullLogger())
	if p.engine, err = newEngine(b.Context(), module, nil); err != nil {
		b.Fatal(err)
	}
	if err := p.introduce(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func BenchmarkInstrument(b *testing.B) {
	b.SetBytes(int64(len(Embedded())))
	for b.Loop() {
		out, err := meter.Instrument(Embedded())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(out))/float64(len(Embedded())), "size")
	}
}

func BenchmarkEmptyCycle(b *testing.B) {
	policy := load(b, Embedded(), Limits{})
	p := sdktest.New().Nodes(1, 1, 1).Picture()
	for b.Loop() {
		if _, err := policy.Cycle(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodePicture(b *testing.B) {
	eachSize(b, func(b *testing.B, p *abi.Picture) {
		dst := make([]byte, p.Size())
		b.SetBytes(int64(len(dst)))
		for b.Loop() {
			p.Encode(dst)
		}
	})
}

// BenchmarkLoad measures from bytes to a manifest, without and with the code cache.
func BenchmarkLoad(b *testing.B) {
	for name, cfg := range map[string]Config{"compile": {}, "cached": {CacheDir: b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			host, err := Open(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				p, err := host.Load(b.Context(), "embedded", Embedded(), Limits{})
				if err != nil {
					b.Fatal(err)
				}
				_ = p.Close(b.Context())
			}
		})
	}
}

// BenchmarkCollectWhileLooping measures the host's garbage collector against a guest that
// never ends.
func BenchmarkCollectWhileLooping(b *testing.B) {
	policy := load(b, zooModule, zooLimits)
	var longest time.Duration
	for b.Loop() {
		longest = max(longest, collectWhileLooping(b, policy, 20))
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
}

// BenchmarkRestart measures what a fault costs: the fault and a cycle on a new instance.
func BenchmarkRestart(b *testing.B) {
	policy := load(b, zooModule, zooLimits)
	for b.Loop() {
		if _, err := policy.Cycle(b.Context(), picture(seedPanic)); err == nil {
			b.Fatal("no fault")
		}
		if _, err := policy.Cycle(b.Context(), picture(seedGood)); err != nil {
			b.Fatal(err)
		}
	}
}
