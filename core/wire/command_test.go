package wire

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
)

var update = flag.Bool("update", false, "write the golden files anew; never for a command number that was released")

var equalSets = cmp.AllowUnexported(core.IndexSet{})

// examples holds one command of each kind with every field set. The golden files in
// testdata are their bytes as the first version wrote them: every later version reads
// them as the same values.
func examples(t testing.TB) map[string]core.Command {
	t.Helper()
	list, err := core.ParseArray("1,3,5-9:2%4")
	if err != nil {
		t.Fatal(err)
	}
	index := uint32(0)
	spec := core.JobSpec{
		Name: "work", User: "ann", UID: 1000, GID: 100, Partition: "main", Comment: "why", Nodes: 2, Tasks: 4, CPUsPerTask: 3,
		MemoryMiB: 512, MemPerCPU: 64, TimeLimit: 90 * time.Second, Nice: 5, WorkDir: "/home/ann", Output: "o-%j", Error: "e-%j",
		Array: list,
	}
	return map[string]core.Command{
		"submit_jobs": core.SubmitJobs{RequestKey: "key", Jobs: []core.Submission{
			{Spec: spec, Payload: core.Payload{Script: []byte("#!/bin/sh\n"), Argv: []string{"a"}, Environment: []string{"A=1"}}},
			{Spec: core.JobSpec{Name: "small"}, Payload: core.Payload{Argv: []string{"true"}}},
		}},
		"cancel_jobs": core.CancelJobs{Refs: []core.JobRef{{ID: 1}, {ID: 2, Index: &index}}, By: "ann"},
		"apply_plan": core.ApplyPlan{Plan: core.Plan{
			Policy: "backfill@1.0.0", Cycle: 8, Starts: []core.Start{{Job: 1, Nodes: []string{"n2", "n1"}}},
			Waits: []core.Wait{{Job: 2, Reason: core.ReasonResources, Message: "no room"}},
		}},
		"report_jobs": core.ReportJobs{Reports: []core.JobReport{{
			Job: 1, Attempt: 2, State: core.JobFailed, Reason: core.ReasonRaisedSignal, Message: "m", ExitCode: -1, Signal: 9,
		}}},
		"register_node": core.RegisterNode{
			Name: "n1", Address: "10.0.0.1", Labels: map[string]string{"b": "2", "a": "1"},
			Capacity: core.Resources{CPUs: 4, MemoryMiB: 1 << 20}, Agent: "x", Version: "1.0.0", OS: "linux",
		},
		"drain_node":      core.DrainNode{Name: "n1", Drain: true, Reason: "fan", By: "ann"},
		"mark_nodes":      core.MarkNodes{Marks: []core.NodeMark{{Name: "n1", Down: true, Reason: "silent"}}},
		"forget":          core.Forget{EndedBefore: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), HistoryIndex: 7},
		"announce_member": core.AnnounceMember{Member: core.Member{ServerID: "a#1", Name: "a", APIAddress: "a:6817", Version: "1.0.0"}},
	}
}

func TestEveryKindOfCommandHasAnExample(t *testing.T) {
	kinds := (&Command{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	commands := examples(t)
	for i := range kinds.Len() {
		if name := string(kinds.Get(i).Name()); commands[name] == nil {
			t.Errorf("no example of %s", name)
		}
	}
}

func TestCommandsReadAsTheyWereFirstWritten(t *testing.T) {
	for name, command := range examples(t) {
		t.Run(name, func(t *testing.T) {
			data, err := EncodeCommand(command)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".bin")
			if *update {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := DecodeCommand(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(command, decoded, equalSets); diff != "" {
				t.Errorf("(-want +decoded)\n%s", diff)
			}
			if !bytes.Equal(data, golden) {
				t.Errorf("now written as %x, was %x", data, golden)
			}
		})
	}
}

func TestEncodeCommandIsDeterministic(t *testing.T) {
	labels := map[string]string{}
	for i := range 50 {
		labels[fmt.Sprint(i)] = "x"
	}
	first, err := EncodeCommand(core.RegisterNode{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := EncodeCommand(core.RegisterNode{Labels: labels})
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("equal commands differ: %v", err)
		}
	}
}

func TestEncodeCommandRefusesWhatCannotBeReadBack(t *testing.T) {
	cases := map[string]core.Command{
		"negative limit":    core.SubmitJobs{Jobs: []core.Submission{{Spec: core.JobSpec{TimeLimit: -time.Second}}}},
		"fraction":          core.SubmitJobs{Jobs: []core.Submission{{Spec: core.JobSpec{TimeLimit: time.Millisecond}}}},
		"not UTF-8":         core.DrainNode{Name: "\xff"},
		"no state":          core.ReportJobs{Reports: []core.JobReport{{Job: 1}}},
		"unknown state":     core.ReportJobs{Reports: []core.JobReport{{State: 200}}},
		"year ten thousand": core.Forget{EndedBefore: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for name, command := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := EncodeCommand(command)
			if core.KindOf(err) != core.Invalid || data != nil {
				t.Errorf("got %x, %v", data, err)
			}
		})
	}
}

func TestEncodeCommandRefusesWhatIsNoCommand(t *testing.T) {
	for _, command := range []core.Command{nil, &core.DrainNode{}} {
		if _, err := EncodeCommand(command); err == nil {
			t.Errorf("%T was encoded", command)
		}
	}
}

func TestDecodeCommandNamesWhatItDoesNotKnow(t *testing.T) {
	unknownKind := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), nil)
	drain, err := proto.Marshal(&DrainNode{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	drain = protowire.AppendVarint(protowire.AppendTag(drain, 77, protowire.VarintType), 1)
	unknownField := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), drain)
	spec := protowire.AppendVarint(protowire.AppendTag(nil, 88, protowire.VarintType), 1)
	deep := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), spec) // Submission.spec
	deep = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), deep)  // SubmitJobs.jobs
	deep = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep)  // Command.submit_jobs

	cases := []struct {
		name string
		data []byte
		want UnknownFieldError
	}{
		{"nothing", nil, UnknownFieldError{Message: "rowel.v1.Command"}},
		{"kind", unknownKind, UnknownFieldError{Message: "rowel.v1.Command", Field: 99}},
		{"field", unknownField, UnknownFieldError{Message: "rowel.v1.DrainNode", Field: 77}},
		{"field far down", deep, UnknownFieldError{Message: "rowel.v1.JobSpec", Field: 88}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeCommand(c.data)
			var unknown *UnknownFieldError
			if !errors.As(err, &unknown) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(c.want, *unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeCommandRefusesWhatIsMalformed(t *testing.T) {
	submit := func(spec *JobSpec) *Command {
		return &Command{Kind: &Command_SubmitJobs{&SubmitJobs{Jobs: []*Submission{{Spec: spec}}}}}
	}
	cases := map[string]*Command{
		"no spec":      submit(nil),
		"time limit":   submit(&JobSpec{TimeLimitSeconds: 1 << 63}),
		"array":        submit(&JobSpec{Array: &ArraySpec{Indices: []*IndexRange{{First: 2, Last: 1, Step: 1}}}}),
		"report state": {Kind: &Command_ReportJobs{&ReportJobs{Reports: []*JobReport{{State: 300}}}}},
	}
	for name, message := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := proto.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			if command, err := DecodeCommand(data); core.KindOf(err) != core.Invalid || command != nil {
				t.Errorf("got %v, %v", command, err)
			}
		})
	}
	if _, err := DecodeCommand([]byte("garbage")); core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "decode command") {
		t.Errorf("garbage gave %v", err)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, command := range examples(f) {
		data, err := EncodeCommand(command)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		command, err := DecodeCommand(data)
		if err != nil {
			return
		}
		again, err := EncodeCommand(command)
		if err != nil {
			t.Fatalf("%#v was decoded and cannot be encoded: %v", command, err)
		}
		twice, err := DecodeCommand(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(command, twice, equalSets); diff != "" {
			t.Fatal(diff)
		}
	})
}
