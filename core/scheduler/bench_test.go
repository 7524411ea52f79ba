package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/state"
	"github.com/rowelhq/rowel/core/wire"
)

// BenchmarkDraw measures how long a picture takes, and its fingerprint with it.
func BenchmarkDraw(b *testing.B) {
	for _, size := range []struct{ nodes, running, pending int }{
		{1_000, 1_000, 10_000},
		{10_000, 10_000, 100_000},
	} {
		b.Run(fmt.Sprintf("nodes=%d/pending=%d", size.nodes, size.pending), func(b *testing.B) {
			view := benchView(b, size.nodes, size.running, size.pending)
			var p picture
			p.draw(view, 1, time.UnixMilli(0), 10_000)
			b.ReportAllocs()
			for b.Loop() {
				p.draw(view, 1, time.UnixMilli(0), 10_000)
				p.fingerprint()
			}
		})
	}
}

// benchView is a cluster of 16 kinds of machine in which some jobs of many shapes run
// and others wait with many priorities.
func benchView(b *testing.B, nodes, running, pending int) *state.View {
	store := state.New()
	apply := func(commands ...core.Command) {
		var data [][]byte
		for _, command := range commands {
			encoded, err := wire.EncodeCommand(command)
			if err != nil {
				b.Fatal(err)
			}
			data = append(data, encoded)
		}
		results, err := store.Apply(store.View().Index()+1, time.UnixMilli(0), data)
		if err != nil {
			b.Fatal(err)
		}
		for _, result := range results {
			if refused, ok := result.(error); ok {
				b.Fatal(refused)
			}
		}
	}
	var commands []core.Command
	for i := range nodes {
		commands = append(commands, core.RegisterNode{
			Name: fmt.Sprintf("node-%05d", i), Agent: "a",
			Capacity: core.Resources{CPUs: uint32(32 << (i % 4)), MemoryMiB: uint64(64_000 << (i / 4 % 4))},
		})
	}
	apply(commands...)
	for first := 0; first < running+pending; first += 1000 {
		submit := core.SubmitJobs{RequestKey: fmt.Sprint(first)}
		for i := first; i < min(first+1000, running+pending); i++ {
			submit.Jobs = append(submit.Jobs, core.Submission{
				Spec: core.JobSpec{
					Name: "bench", User: fmt.Sprintf("user-%d", i%50), Partition: core.DefaultPartition,
					Nodes: uint32(1 + i%4), Tasks: uint32(1 + i%4), CPUsPerTask: uint32(1 + i%31), MemoryMiB: uint64(i % 40_000),
					TimeLimit: time.Hour, Nice: uint32(i % 100),
				},
				Payload: core.Payload{Argv: []string{"true"}},
			})
		}
		apply(submit)
	}
	var plan core.Plan
	for i := range running {
		start := core.Start{Job: core.JobID(i + 1)}
		for n := range 1 + i%4 {
			start.Nodes = append(start.Nodes, fmt.Sprintf("node-%05d", (i+n)%nodes))
		}
		plan.Starts = append(plan.Starts, start)
	}
	apply(core.ApplyPlan{Plan: plan})
	return store.View()
}
