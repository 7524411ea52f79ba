package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExportChoosesVariablesAsSbatchDoes(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/root", "A=1", "B=x=y", "=C:=odd", "EMPTY="}
	for export, want := range map[string][]string{
		"ALL":       {"A=1", "B=x=y", "EMPTY=", "HOME=/root", "PATH=/bin"},
		"NONE":      {"HOME=/root", "PATH=/bin"},
		"B,MISSING": {"B=x=y", "HOME=/root", "PATH=/bin"},
		"A=2,C=3":   {"A=2", "C=3", "HOME=/root", "PATH=/bin"},
		"ALL,A=2":   {"A=2", "B=x=y", "EMPTY=", "HOME=/root", "PATH=/bin"},
		"PATH=/opt": {"HOME=/root", "PATH=/opt"},
	} {
		got, left, err := exportEnvironment(export, environ)
		if err != nil || len(left) > 0 {
			t.Fatalf("%q: %v, left out %q", export, err, left)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("--export=%s: %s", export, diff)
		}
	}
}

func TestExportRefusesAMalformedList(t *testing.T) {
	for _, export := range []string{"", "A,,B", "=x", "A,NONE"} {
		if got, _, err := exportEnvironment(export, nil); err == nil {
			t.Errorf("--export=%q gave %q, want an error", export, got)
		}
	}
}

func TestExportTellsWhatIsNotText(t *testing.T) {
	got, left, err := exportEnvironment("ALL", []string{"GOOD=1", "BAD=\xff"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GOOD=1"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`"BAD"`}, left); diff != "" {
		t.Error(diff)
	}
}
