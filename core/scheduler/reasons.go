package scheduler

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowelhq/rowel/core"
)

// Bounds on what one sentence repeats. They keep it well below the 1 KiB that the state
// keeps of a message: one that the state cuts would differ from what is in the record,
// and be sent again for ever.
const (
	namedNodes  = 3   // before the rest is counted
	quotedBytes = 120 // of why a node is out of service
)

const noNodes = "no node has registered yet"

// verdict is why a job waits. Its sentence has no figure that moves while nodes come
// and go from work: a record is written only when its reason changes.
type verdict struct {
	reason  core.Reason
	message string
}

// reasons says why jobs wait that the nodes in service cannot hold, once for each
// distinct request.
type reasons struct {
	nodes []*core.Node
	known map[request]verdict
}

type request struct {
	need  core.Resources
	nodes uint32
}

func (r *reasons) reset(nodes []*core.Node) {
	r.nodes = nodes
	if r.known == nil {
		r.known = map[request]verdict{}
	}
	clear(r.known)
}

// unfit explains why fewer nodes than asked for take jobs and could hold the need.
func (r *reasons) unfit(need core.Resources, nodes uint32) verdict {
	asked := request{need, nodes}
	v, known := r.known[asked]
	if !known {
		v = r.explain(asked)
		r.known[asked] = v
	}
	return v
}

func (r *reasons) explain(asked request) verdict {
	if len(r.nodes) == 0 {
		return verdict{core.ReasonResources, noNodes}
	}
	var able uint32
	var out []*core.Node
	for _, node := range r.nodes {
		if asked.need.FitsIn(node.Capacity) {
			able++
			if !node.Schedulable() {
				out = append(out, node)
			}
		}
	}
	switch {
	case able >= asked.nodes:
		return verdict{core.ReasonNodesNotAvailable, "the nodes that could hold it are out of service: " + standings(out)}
	case able == 0:
		return verdict{core.ReasonBadConstraints, r.tooLarge(asked.need)}
	case int(able) == len(r.nodes):
		return verdict{core.ReasonBadConstraints, fmt.Sprintf("asks for %s; the cluster has %d", count(asked.nodes, "node"), able)}
	}
	return verdict{core.ReasonBadConstraints, fmt.Sprintf("asks for %s of %v each; the cluster has %d so large", count(asked.nodes, "node"), asked.need, able)}
}

// tooLarge explains why no node at all, in service or not, could hold the need.
func (r *reasons) tooLarge(need core.Resources) string {
	var most core.Resources
	for _, node := range r.nodes {
		most.CPUs = max(most.CPUs, node.Capacity.CPUs)
		most.MemoryMiB = max(most.MemoryMiB, node.Capacity.MemoryMiB)
	}
	switch {
	case need.CPUs > most.CPUs:
		return fmt.Sprintf("asks for %s on one node; the largest node has %d", count(need.CPUs, "CPU"), most.CPUs)
	case need.MemoryMiB > most.MemoryMiB:
		return fmt.Sprintf("asks for %d MiB of memory on one node; the largest node has %d MiB", need.MemoryMiB, most.MemoryMiB)
	}
	return fmt.Sprintf("asks for %v on one node; no node has both", need)
}

// standings names nodes with why they take no jobs.
func standings(nodes []*core.Node) string {
	var b strings.Builder
	for i, node := range nodes {
		if i == namedNodes {
			fmt.Fprintf(&b, " and %d more", len(nodes)-namedNodes)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		standing, why := "drained", node.DrainReason
		if node.Down {
			standing, why = "down", node.DownReason
		}
		fmt.Fprintf(&b, "%s (%s", node.Name, standing)
		if why != "" {
			fmt.Fprintf(&b, ": %s", quoted(why))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// quoted returns the beginning of a text, cutting no character.
func quoted(text string) string {
	if len(text) <= quotedBytes {
		return text
	}
	end := quotedBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func arrayLimit(job *core.Job) verdict {
	most := uint32(0)
	if job.Spec.Array != nil {
		most = job.Spec.Array.MaxAtOnce
	}
	return verdict{core.ReasonJobArrayTaskLimit, fmt.Sprintf("as many of the array's jobs run as its %%%d allows", most)}
}

// stale reports whether a job that a policy is shown still says why it was not.
func stale(job *core.Job) bool {
	switch job.Reason {
	case core.ReasonBadConstraints, core.ReasonNodesNotAvailable, core.ReasonJobArrayTaskLimit:
		return true
	}
	return job.Message == noNodes
}

func count(n uint32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
