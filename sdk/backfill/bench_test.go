package backfill_test

import (
	"fmt"
	"testing"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/backfill"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

// BenchmarkEASY measures one native cycle; core/plugin measures the same in a guest.
func BenchmarkEASY(b *testing.B) {
	for _, size := range []struct {
		nodes, jobs int
		load        float64
	}{{1000, 10000, 1}, {1000, 10000, 0.7}, {1000, 10000, 0}, {5000, 1000, 0.7}, {5000, 1000, 0}} {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d/load=%v", size.nodes, size.jobs, size.load), func(b *testing.B) {
			p := sdktest.Synthetic(1, size.nodes, size.jobs, size.load)
			b.ReportAllocs()
			for b.Loop() {
				sdk.Run(backfill.EASY, p)
			}
		})
	}
}
