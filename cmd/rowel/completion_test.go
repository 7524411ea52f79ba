package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompletionOffersWhatMayFollow(t *testing.T) {
	app := newApp(nil)
	for typed, want := range map[string]string{
		"que":                    "queue",
		"he":                     "help",
		"node ":                  "show drain resume",
		"node show --st":         "--stale",
		"queue --st":             "--states --stale",
		"queue -t COMP":          "COMPLETING COMPLETED",
		"queue --states RU":      "RUNNING",
		"queue -t R --n":         "--noheader",
		"submit --export A":      "ALL",
		"submit --nice --mem":    "--mem --mem-per-cpu",
		"submit --job-name ":     "",
		"submit ":                "",
		"submit x.sh --a":        "",
		"submit -- ls --a":       "",
		"completion ":            "bash zsh fish",
		"completion bash ":       "",
		"help sub":               "submit",
		"nonsense ":              "",
		"--address a:1 sta":      "status",
		"--addr":                 "--address",
		"logs --stream ":         "stdout stderr",
		"config check --role co": "controller",
	} {
		words := strings.Split(typed, " ")
		if diff := cmp.Diff(want, strings.Join(complete(app, words), " ")); diff != "" {
			t.Errorf("%q: %s", typed, diff)
		}
	}
}
