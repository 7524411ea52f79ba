package health_test

import "testing"

// BenchmarkHeard measures one heartbeat.
func BenchmarkHeard(b *testing.B) {
	w := newWorld(b, "n1")
	b.ReportAllocs()
	for b.Loop() {
		w.monitor.Heard("n1", "agent-1", 0.5)
	}
}
