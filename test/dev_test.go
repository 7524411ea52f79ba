package test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// dev runs `rowel dev args…` to its end.
func dev(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rowel, append([]string{"dev"}, args...)...)
	cmd.Dir = ".."
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errors.String(), cmd.ProcessState.ExitCode()
}

func TestDevRunsACommandAndExitsAsItDid(t *testing.T) {
	stdout, stderr, code := dev(t, "--port", "0", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
	if stdout != "out\n" || code != 5 {
		t.Errorf("stdout %q, exit %d, want \"out\\n\" and 5", stdout, code)
	}
	for _, part := range []string{"err\n", "backfill@", "WebAssembly"} {
		if !strings.Contains(stderr, part) {
			t.Errorf("stderr lacks %q:\n%s", part, stderr)
		}
	}
}

// TestDemo runs what `make demo` runs once it has built.
func TestDemo(t *testing.T) {
	stdout, stderr, code := dev(t, "--port", "0", "--", "examples/hello.sh")
	if code != core.ExitOK || !strings.Contains(stdout, "Hello from job 1") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestDevOnATakenPortNamesItAndTheRemedy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, stderr, code := dev(t, "--port", strconv.Itoa(port), "--", "true")
	if code != core.ExitUnavailable || !strings.Contains(stderr, strconv.Itoa(port)) || !strings.Contains(stderr, "--port") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestDevKeepsDataWhenToldTo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for want := range 2 {
		stdout, stderr, code := dev(t, "--port", "0", "--data", data, "--", "sh", "-c", "echo job $SLURM_JOB_ID")
		if wanted := "job " + strconv.Itoa(want+1) + "\n"; stdout != wanted || code != 0 {
			t.Errorf("stdout %q, exit %d, want %q: %s", stdout, code, wanted, stderr)
		}
	}
}

// TestDevStaysUpUntilInterrupted uses the address that it prints.
func TestDevStaysUpUntilInterrupted(t *testing.T) {
	p := start(t, "dev", "dev", "--port", "0")
	var address string
	eventually(t, 20*time.Second, "dev prints an address", func() bool {
		_, rest, found := strings.Cut(p.log.String(), "export ROWEL_ADDR=")
		address, _, _ = strings.Cut(rest, "\n")
		return found
	})
	cmd := exec.Command(rowel, "run", "--", "echo", "hello")
	cmd.Env = append(os.Environ(), "ROWEL_ADDR="+address)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("run gave %q (%v)", out, err)
	}
	if code := p.stop(); code != core.ExitOK {
		t.Errorf("dev exited %d on SIGTERM", code)
	}
}
