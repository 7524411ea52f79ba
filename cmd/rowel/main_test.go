package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // tables show local times
	testscript.Main(m, map[string]func(){"rowel": main})
}

// TestScripts runs testdata/script/*.txtar. Beside testscript's own commands they have
// "exits CODE COMMAND...", which runs a command that must exit with that code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exited with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// testNow is the time on the clock of every test.
var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// result is what running the program gave.
type result struct {
	code           int
	stdout, stderr string
}

// rowel runs the program in this process. Without --address it finds no controller.
func rowel(t *testing.T, words ...string) result {
	t.Helper()
	return rowelReading(t, "", words...)
}

func rowelReading(t *testing.T, stdin string, words ...string) result {
	t.Helper()
	t.Setenv("ROWEL_ADDR", "")
	var stdout, stderr bytes.Buffer
	code := runAt(func() time.Time { return testNow }, append([]string{"rowel"}, words...), strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// ok fails the test unless the program said what it had to on standard output alone.
func (r result) ok(t *testing.T) string {
	t.Helper()
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("exit code %d, stderr:\n%s", r.code, r.stderr)
	}
	return r.stdout
}

// fails fails the test unless the program ended with a code and said this on stderr.
func (r result) fails(t *testing.T, code int, saying string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stderr, saying) {
		t.Errorf("exit code %d, want %d; stderr %q, want %q in it", r.code, code, r.stderr, saying)
	}
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
