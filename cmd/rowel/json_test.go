package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

var update = flag.Bool("update", false, "write testdata/json anew; fields may be added, never renamed or removed")

// The files in testdata/json are the contract of --json: see docs/cli.md.
func TestJSONIsStable(t *testing.T) {
	f := populated(t)
	f.payload = &core.Payload{Script: []byte("#!/bin/sh\necho '<&>'\n"), Argv: []string{"a"}, Environment: []string{"SECRET=1"}}
	for name, words := range map[string]string{
		"submit":      "submit --json --wrap true",
		"queue":       "queue --json",
		"job_show":    "job show 7 --json",
		"cancel":      "cancel 7 --json",
		"history":     "history --json",
		"nodes":       "nodes --json",
		"node_show":   "node show n1 --json",
		"node_drain":  "node drain n1 --reason x --json",
		"node_resume": "node resume n1 --json",
		"status":      "status --json",
	} {
		checkGolden(t, name, f.run(t, strings.Fields(words)...).ok(t))
	}
}

func TestJSONListsAreNeverNull(t *testing.T) {
	f := newFakeAPI(t)
	for name, words := range map[string]string{
		"queue_empty":   "queue --json",
		"history_empty": "history --json",
		"nodes_empty":   "nodes --json",
		"status_empty":  "status --json",
		"cancel_empty":  "cancel --me --json",
		"wait_empty":    "wait 7 --json",
	} {
		f.status = leaderStatus()
		f.status.Members, f.status.Jobs, f.status.Nodes, f.status.Warnings, f.status.Policy = nil, nil, nil, nil, nil
		checkGolden(t, name, f.run(t, strings.Fields(words)...).ok(t))
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "json", name+".json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}
