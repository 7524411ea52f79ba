package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsedLine(t *testing.T, words ...string) *commandLine {
	t.Helper()
	line, err := parseCommandLine(newApp(nil), words)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return line
}

func TestOptionsAreReadAsGetoptDoes(t *testing.T) {
	for typed, want := range map[string]string{
		"submit -n4 -c 2 x.sh":               "submit --ntasks=4 --cpus-per-task=2 -- x.sh",
		"submit --time 1:30 --mem=2G x.sh":   "submit --time=1:30 --mem=2G -- x.sh",
		"submit -n=4 x.sh":                   "submit --ntasks=4 -- x.sh",
		"submit --nice x.sh":                 "submit --nice=100 -- x.sh",
		"submit --nice=5 x.sh":               "submit --nice=5 -- x.sh",
		"submit --comment -x y.sh":           "submit --comment=-x -- y.sh",
		"queue -ah":                          "queue --all=true --noheader=true --",
		"queue -hua,b":                       "queue --noheader=true --user=a,b --",
		"controller -config c.hcl":           "controller --config=c.hcl --",
		"sbatch -J a x.sh":                   "submit --job-name=a -- x.sh",
		"job show 7 --json":                  "job show --json=true -- 7",
		"cancel 7 -u bob 8":                  "cancel --user=bob -- 7 8",
		"cancel 7 -- -u":                     "cancel -- 7 -u",
		"--address a:1 queue --json":         "queue --address=a:1 --json=true --",
		"node --json drain n1 --reason=fan":  "node drain --json=true --reason=fan -- n1",
		"--version":                          "version --",
		"wait 7 --json=false":                "wait --json=false -- 7",
		"submit --comment=a=b x.sh":          "submit --comment=a=b -- x.sh",
		"history -S today -s F":              "history --starttime=today --states=F --",
		"logs -f 7":                          "logs --follow=true -- 7",
		"queue --user= --states=PD":          "queue --user= --states=PD --",
		"status --patience 3s --address=a:1": "status --patience=3s --address=a:1 --",
	} {
		line := parsedLine(t, strings.Fields(typed)...)
		if got := strings.Join(line.words("rowel")[1:], " "); got != want {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
	}
}

func TestOptionsOfTheJobAreNotOurs(t *testing.T) {
	for typed, want := range map[string][]string{
		"run -n2 make -j4 --help":    {"make", "-j4", "--help"},
		"run -- make --json":         {"make", "--json"},
		"dev -- sh -c ls":            {"sh", "-c", "ls"},
		"submit x.sh --json -n9":     {"x.sh", "--json", "-n9"},
		"submit -n2 -- make -n9":     {"--", "make", "-n9"},
		"submit - --verbose":         {"-", "--verbose"},
		"__complete -- queue --js":   {"queue", "--js"},
		"run sh -- -c":               {"sh", "--", "-c"},
		"submit -- cmd -- --address": {"--", "cmd", "--", "--address"},
	} {
		line := parsedLine(t, strings.Fields(typed)...)
		if diff := cmp.Diff(want, line.args); diff != "" || line.help {
			t.Errorf("%q: %s", typed, diff)
		}
	}
}

func TestUsageErrorsNameTheNearestThing(t *testing.T) {
	for typed, want := range map[string]string{
		"sumbit x.sh":            `no command "sumbit"; did you mean "submit"?`,
		"zzz":                    `no command "zzz". Type "rowel --help"`,
		"node drian n1":          `node: no command "drian"; did you mean "drain"?`,
		"node":                   "node: a command is missing: show, drain, resume",
		"--json":                 "a command is missing: submit, run,",
		"queue --stats R":        `queue: no option "--stats"; did you mean --states?`,
		"queue -x":               `queue: no option "-x". Type "rowel queue --help"`,
		"queue --states":         "queue: --states needs a value",
		"queue --all=5":          "queue: --all takes no value",
		"queue -a=5":             "queue: --all takes no value",
		"queue -ax":              `queue: no option "-x"`,
		"--stale queue":          `no option "--stale"`,
		"--json run -- ls":       `run: no option "--json"`,
		"--addres x:1 queue":     `no option "--addres"; did you mean --address?`,
		"submit --gres=gpu x.sh": `submit: no option "--gres"`,
	} {
		rowel(t, strings.Fields(typed)...).fails(t, 64, want)
	}
}

func TestHelpIsFoundWhereverItIsAskedFor(t *testing.T) {
	for _, typed := range []string{
		"submit --help", "submit -h", "help submit", "--help submit", "help sbatch", "submit -n4 --help",
	} {
		if out := rowel(t, strings.Fields(typed)...).ok(t); !strings.HasPrefix(out, "rowel submit - ") {
			t.Errorf("%q printed %.60q", typed, out)
		}
	}
	for _, typed := range []string{"", "--help", "-h", "help"} {
		if out := rowel(t, strings.Fields(typed)...).ok(t); !strings.HasPrefix(out, "rowel - ") {
			t.Errorf("%q printed %.60q", typed, out)
		}
	}
}

func FuzzParseCommandLine(f *testing.F) {
	for _, seed := range []string{"submit -n4 x", "queue -ahu\nb", "-", "--", "-=", "--=", "node -é drain", "submit --nice", "run -- -- x", "\xff -\xff"} {
		f.Add(seed)
	}
	app := newApp(nil)
	f.Fuzz(func(t *testing.T, text string) {
		line, err := parseCommandLine(app, strings.Split(text, " "))
		if err != nil || line.help {
			return
		}
		words := line.words("rowel")
		again, err := parseCommandLine(app, words[1:])
		if err != nil {
			t.Fatalf("%q became %q: %v", text, words, err)
		}
		if line.path[0].Name != "submit" && !slices.Equal(again.words("rowel"), words) {
			t.Fatalf("%q became %q, then %q", text, words, again.words("rowel"))
		}
	})
}
