package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

// directives returns what a script asks for, as "name=value" in order.
func directives(t *testing.T, script string) []string {
	t.Helper()
	settings, err := parseDirectives([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range settings {
		got = append(got, s.option.name+"="+s.value)
	}
	return got
}

func TestParseDirectivesReadsEveryWayToWriteAnOption(t *testing.T) {
	got := directives(t, `#!/bin/bash
#SBATCH --job-name=a --ntasks 4
# an ordinary comment

	# an indented one
##SBATCH --time=1
#SBATCH -c2 -N 3	-t=5
#SBATCH --comment="two words" -J 'it''s' --comment=back\ slash
#SBATCH --nice --nice=5 --wait # the rest is a comment --bogus
#SBATCH
#SBATCH --error=a#b
echo hello
#SBATCH --mem=1G
`)
	want := []string{
		"job-name=a", "ntasks=4", "cpus-per-task=2", "nodes=3", "time=5", "comment=two words", "job-name=its", "comment=back slash",
		"nice=100", "nice=5", "wait=", "error=a#b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseDirectivesRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for line, want := range map[string]string{
		"#SBATCH --gres=gpu:1":        `line 2: option "--gres" is not supported`,
		"#SBATCH -G 1":                `line 2: option "-G" is not supported`,
		"#SBATCH -é":                  `line 2: option "-é" is not supported`,
		"#SBATCH -":                   `line 2: option "-" is not supported`,
		"#SBATCH job.out":             `line 2: "job.out" is not an option`,
		"#SBATCHnospace":              `line 2: "nospace" is not an option`,
		"#SBATCH --time":              "line 2: --time needs a value",
		"#SBATCH --wait=yes":          "line 2: --wait takes no value",
		"#SBATCH --wrap=ls":           "line 2: --wrap can only be given on the command line",
		"#SBATCH --comment=\"open":    `line 2: a " is not closed`,
		"#SBATCH --comment=x\\":       "line 2: the line ends in a backslash",
		"#SBATCH --time=5\r":          "line 2 ends in a carriage return",
		"# fine\n#SBATCH -t 1 --nope": `line 3: option "--nope" is not supported`,
	} {
		_, err := parseDirectives([]byte("#!/bin/sh\n" + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) || core.KindOf(err) != core.Invalid {
			t.Errorf("%q gave %v, want Invalid with %q", line, err, want)
		}
	}
}

func TestApplyTakesTheLastOfWhatIsRepeated(t *testing.T) {
	settings, err := parseDirectives([]byte("#!/bin/sh\n#SBATCH -t 5 -n2\n#SBATCH --time=1:30\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRequest()
	if err := r.apply(settings); err != nil {
		t.Fatal(err)
	}
	if r.spec.TimeLimit != 90*time.Second || r.spec.Tasks != 2 {
		t.Errorf("got limit %v and %d tasks", r.spec.TimeLimit, r.spec.Tasks)
	}
}

func TestApplyRefusesBothKindsOfMemory(t *testing.T) {
	settings, err := parseDirectives([]byte("#!/bin/sh\n#SBATCH --mem=1G --mem-per-cpu=1G\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := newRequest().apply(settings); err == nil {
		t.Error("both were accepted")
	}
}

func FuzzParseDirectives(f *testing.F) {
	for _, seed := range []string{
		"#!/bin/sh\n#SBATCH --time=5 -n 4\necho\n", "#SBATCH -J\"a b\" # c", "#SBATCH -\xff", "#SBATCH --comment='", "#SBATCH \\", "\r\n", "#SBATCH --nice",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		settings, err := parseDirectives(script)
		if err != nil {
			if core.KindOf(err) != core.Invalid || !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("error %v has no line or kind", err)
			}
			return
		}
		if len(settings) > 0 && !bytes.Contains(script, []byte(sbatchMagic)) {
			t.Fatal("options out of nothing")
		}
		for _, s := range settings {
			if s.option.where&inScript == 0 {
				t.Fatalf("--%s came out of a script", s.option.name)
			}
		}
		if err := newRequest().apply(settings); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
	})
}
