package controller

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowelhq/rowel/core"
)

// serveMetrics answers /metrics, and the probes beside it for a local check.
func (c *Controller) serveMetrics(ctx context.Context, listener net.Listener) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newMetrics(c),
	)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	mux.Handle("/livez", c.probe.Handler())
	mux.Handle("/readyz", c.probe.Handler())
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// metrics reads every figure when it is asked for: nothing is counted twice, and
// nothing is counted that nobody reads. Names and meanings are in docs/metrics.md.
type metrics struct {
	controller *Controller
	figures    []figure
}

// figure is one metric: labelled gives its values by the value of its label, "" for a
// metric without one.
type figure struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values func(*Controller) map[string]float64
}

func one(v float64) map[string]float64 { return map[string]float64{"": v} }

func flag(set bool) map[string]float64 {
	if set {
		return one(1)
	}
	return one(0)
}

func newMetrics(c *Controller) *metrics {
	m := &metrics{controller: c}
	add := func(kind prometheus.ValueType, name, help, label string, values func(*Controller) map[string]float64) {
		var labels []string
		if label != "" {
			labels = []string{label}
		}
		m.figures = append(m.figures, figure{prometheus.NewDesc("rowel_"+name, help, labels, nil), kind, values})
	}
	gauge := func(name, help, label string, values func(*Controller) map[string]float64) {
		add(prometheus.GaugeValue, name, help, label, values)
	}
	counter := func(name, help, label string, values func(*Controller) map[string]float64) {
		add(prometheus.CounterValue, name+"_total", help, label, values)
	}
	gauge("ready", "1 while /readyz answers ok.", "", func(c *Controller) map[string]float64 { return flag(c.probe.Ready() == "ok") })
	gauge("raft_leader", "1 while this controller leads.", "", func(c *Controller) map[string]float64 { return flag(c.leading()) })
	gauge("raft_term", "Raft term.", "", func(c *Controller) map[string]float64 { return one(float64(c.member.Status().Term)) })
	gauge("raft_index", "Raft log indexes.", "of", raftIndexes)
	gauge("jobs", "Jobs that the state keeps, by state; elements of arrays count each.", "state", jobsByState)
	gauge("nodes", "Nodes by state.", "state", nodesByState)
	gauge("disk_free_bytes", "Room under the data directory.", "", func(c *Controller) map[string]float64 { return one(float64(c.space.size())) })
	gauge("agents_connected", "Agents with a stream to this controller.", "", func(c *Controller) map[string]float64 { return one(float64(c.dispatch.Sessions())) })
	gauge("history_index", "Raft index up to which job history is on disk.", "", func(c *Controller) map[string]float64 { return one(float64(c.history.Index())) })
	counter("scheduler_cycles", "Scheduling cycles with a policy's answer or failure.", "", func(c *Controller) map[string]float64 { return one(float64(c.scheduler.Stats().Cycles)) })
	counter("scheduler_fallbacks", "Cycles that the embedded policy decided because another failed.", "", func(c *Controller) map[string]float64 { return one(float64(c.scheduler.Stats().Fallbacks)) })
	counter("scheduler_jobs_started", "Jobs that plans of this controller started.", "", func(c *Controller) map[string]float64 { return one(float64(c.scheduler.Stats().Started)) })
	counter("scheduler_seconds", "Time spent in scheduling cycles, by phase.", "phase", cyclePhases)
	counter("policy_strikes", "Faults of the policy.", "policy", func(c *Controller) map[string]float64 {
		return map[string]float64{c.policy.Name(): float64(c.policy.strikes())}
	})
	gauge("policy_fuel_used", "Units of fuel that the policy's last cycle used.", "policy", func(c *Controller) map[string]float64 {
		return map[string]float64{c.policy.Name(): float64(c.policy.Stats().LastFuel)}
	})
	gauge("policy_circuit_open", "1 once the policy has failed too often to be called.", "policy", func(c *Controller) map[string]float64 {
		return map[string]float64{c.policy.Name(): flag(c.policy.Open())[""]}
	})
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, f := range m.figures {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, f := range m.figures {
		for label, value := range f.values(m.controller) {
			var labels []string
			if label != "" {
				labels = []string{label}
			}
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		}
	}
}

func raftIndexes(c *Controller) map[string]float64 {
	status := c.member.Status()
	return map[string]float64{
		"last":     float64(status.LastIndex),
		"commit":   float64(status.CommitIndex),
		"applied":  float64(status.AppliedIndex),
		"snapshot": float64(status.SnapshotIndex),
	}
}

func jobsByState(c *Controller) map[string]float64 {
	counts, values := c.store.View().Counts(), make(map[string]float64)
	for state := core.JobPending; state.Known(); state++ {
		values[state.String()] = float64(counts.Of(state))
	}
	return values
}

func nodesByState(c *Controller) map[string]float64 {
	values := make(map[string]float64)
	for _, state := range []core.NodeState{core.NodeIdle, core.NodeMixed, core.NodeAllocated, core.NodeDraining, core.NodeDrained, core.NodeDown} {
		values[string(state)] = 0
	}
	for node := range c.store.View().Nodes() {
		values[string(node.State())]++
	}
	return values
}

func cyclePhases(c *Controller) map[string]float64 {
	total := c.scheduler.Stats().Total
	return map[string]float64{
		"picture": total.Picture.Seconds(),
		"policy":  total.Policy.Seconds(),
		"apply":   total.Apply.Seconds(),
	}
}
