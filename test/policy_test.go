package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// TestFaultyPolicyNeverStopsAJob gives a controller policies that panic, never answer,
// or propose what cannot be. Each job still runs, placed by the embedded policy, and
// status names the culprit.
func TestFaultyPolicyNeverStopsAJob(t *testing.T) {
	for _, policy := range []string{"trap", "loop", "lie"} {
		t.Run(policy, func(t *testing.T) {
			wasm := buildPolicy(t, policy)
			c := newCluster(t, 1, fmt.Sprintf("plugins {\n  policy = %q\n  deadline = \"200ms\"\n}\n", wasm))
			c.addAgent("n1", 2)
			for range 5 {
				job := c.finish(c.submit(c.script("survivor", "exit 4"))[0], 30*time.Second)
				if job.State != core.JobFailed || job.ExitCode != 4 {
					t.Fatalf("job ended %s with %d (%s), want FAILED with 4", job.State, job.ExitCode, job.Message)
				}
				if !strings.HasPrefix(job.Policy, "backfill@") {
					t.Errorf("the job was placed by %q, want the embedded backfill", job.Policy)
				}
			}
			status, err := c.client.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := status.GetPolicy()
			if got.GetName() != policy || got.GetFallbacks() == 0 || got.GetLastFault() == "" || !got.GetCircuitOpen() {
				t.Errorf("status says of the policy: %v", got)
			}
		})
	}
}

func buildPolicy(t *testing.T, name string) string {
	t.Helper()
	wasm := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", wasm, "./testdata/policies/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build policy %s: %v\n%s", name, err, out)
	}
	return wasm
}
