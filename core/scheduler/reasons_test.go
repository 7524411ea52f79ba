package scheduler_test

import (
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestReasonsSayWhyAJobWaits(t *testing.T) {
	two := []core.Resources{size(2, 1000), size(1, 4000)}
	for name, test := range map[string]struct {
		nodes   []core.Resources
		prepare func(*cluster)
		cpus    uint32
		edits   []func(*core.JobSpec)
		reason  core.Reason
		message string
	}{
		"no node yet": {
			cpus: 1, reason: core.ReasonResources, message: "no node has registered yet",
		},
		"too many CPUs": {
			nodes: two, cpus: 999, reason: core.ReasonBadConstraints,
			message: "asks for 999 CPUs on one node; the largest node has 2",
		},
		"too much memory": {
			nodes: two, cpus: 1, edits: []func(*core.JobSpec){memory(5000)}, reason: core.ReasonBadConstraints,
			message: "asks for 5000 MiB of memory on one node; the largest node has 4000 MiB",
		},
		"both on no one node": {
			nodes: two, cpus: 2, edits: []func(*core.JobSpec){memory(2000)}, reason: core.ReasonBadConstraints,
			message: "asks for 2 CPUs, 2000 MiB on one node; no node has both",
		},
		"more nodes than there are": {
			nodes: two, cpus: 1, edits: []func(*core.JobSpec){onNodes(3)}, reason: core.ReasonBadConstraints,
			message: "asks for 3 nodes; the cluster has 2",
		},
		"more large nodes than there are": {
			nodes: two, cpus: 2, edits: []func(*core.JobSpec){onNodes(2)}, reason: core.ReasonBadConstraints,
			message: "asks for 2 nodes of 2 CPUs, 0 MiB each; the cluster has 1 so large",
		},
		"nodes out of service": {
			nodes: two, cpus: 1, edits: []func(*core.JobSpec){onNodes(2)},
			prepare: func(c *cluster) {
				c.drain("n1", "bad disk")
				c.must(core.MarkNodes{Marks: []core.NodeMark{{Name: "n2", Down: true, Reason: "not heard from for 1m0s"}}})
			},
			reason:  core.ReasonNodesNotAvailable,
			message: "the nodes that could hold it are out of service: n1 (drained: bad disk), n2 (down: not heard from for 1m0s)",
		},
		"resources": {
			nodes: two, cpus: 2, prepare: func(c *cluster) { c.submit(2); c.cycle() },
			reason: core.ReasonResources, message: "waits until 2 CPUs, 0 MiB on one node are free",
		},
		"priority": {
			nodes: two, cpus: 1, prepare: func(c *cluster) { c.submit(2); c.submit(2); c.cycle() },
			reason: core.ReasonPriority, message: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.nodes...)
			if test.prepare != nil {
				test.prepare(c)
			}
			id := c.submit(test.cpus, test.edits...)
			c.cycle()
			job := c.job(id)
			if job.State != core.JobPending || job.Reason != test.reason || job.Message != test.message {
				t.Fatalf("%v, %q, %q\nwant %q, %q", job.State, job.Reason, job.Message, test.reason, test.message)
			}
		})
	}
}

func TestReasonGoesWhenItNoLongerHolds(t *testing.T) {
	c := newCluster(t)
	early, large := c.submit(1), c.submit(4)
	c.cycle()
	c.register("n1", size(2, 0))
	c.cycle()
	c.register("n2", size(8, 0))
	quiet := newPolicy("quiet@1.0.0", silent)
	c.cycleWith(quiet, quiet)
	if job := c.job(large); job.Reason != core.ReasonNone || job.Message != "" {
		t.Fatalf("a job that fits the new node still waits for %q (%q)", job.Reason, job.Message)
	}
	if job := c.job(early); job.State != core.JobRunning {
		t.Fatalf("the early job is %v", job.State)
	}
}

func TestReasonsConverge(t *testing.T) {
	c := newCluster(t, size(2, 0), size(2, 0), size(2, 0), size(2, 0))
	for _, node := range []string{"n1", "n2", "n3"} {
		c.drain(node, strings.Repeat("ä very long reason ", 100))
	}
	c.submit(2, onNodes(2))
	c.submit(99)
	c.submit(2)
	c.submit(2, array("0-9%1"))
	c.submit(2)
	c.cycle()
	c.cycle()
	before := len(c.commands)
	if out := c.cycle(); out.Waits != 0 || len(c.commands) != before {
		t.Fatalf("nothing has changed, and %d reasons were written in %d commands", out.Waits, len(c.commands)-before)
	}
}
