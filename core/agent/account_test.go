package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// nobody is a user that every Unix has and that owns nothing.
const nobody = 65534

// nobodysJob returns a job of another user in a directory of that user's, on a spool
// that the user can pass through. It needs root.
func nobodysJob(t *testing.T) (*fakeStream, *core.Job) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("starting a job as another user needs root")
	}
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, filepath.Join(dir, "spool"))
	s := n.accept()
	s.welcome()
	job := testJob(t, 1)
	job.Spec.User, job.Spec.UID, job.Spec.GID, job.Spec.WorkDir = "nobody", nobody, nobody, home
	return s, job
}

func TestRootsAgentRunsTheJobAsItsUser(t *testing.T) {
	s, job := nobodysJob(t)
	job.Spec.Output = "out"
	s.launch(job, script("id -u; id -g; id -G; touch mine"))
	if report := s.report(); report.State != core.JobCompleted {
		t.Fatalf("report %+v, want COMPLETED", report)
	}
	if got, want := readFile(t, job.Spec.WorkDir+"/out"), "65534\n65534\n65534\n"; got != want {
		t.Errorf("the job is %q, want %q", got, want)
	}
	if user := ownerOf(t, job.Spec.WorkDir+"/out"); user != nobody {
		t.Errorf("the output belongs to %d, want %d", user, nobody)
	}
}

func TestSpooledOutputBelongsToTheJobsUser(t *testing.T) {
	s, job := nobodysJob(t)
	s.launch(job, script("echo hello"))
	s.report()
	s.read(&wire.ReadOutput{Request: 1}, job)
	if got, problem := s.rest(1, 0); got != "hello\n" || problem != "" {
		t.Errorf("got %q, error %q, want hello", got, problem)
	}
}

func TestOutputGoesNowhereTheUserCannotWrite(t *testing.T) {
	s, job := nobodysJob(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(secret), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, job.Spec.WorkDir+"/link"); err != nil {
		t.Fatal(err)
	}
	job.Spec.Output = "link"
	s.launch(job, script("echo overwritten"))
	if report := s.report(); report.Reason != core.ReasonJobLaunchFailure || !strings.Contains(report.Message, "permission denied") {
		t.Errorf("report %+v, want a launch failure", report)
	}
	s.read(&wire.ReadOutput{Request: 1}, job)
	if got, problem := s.rest(1, 0); got != "" || !strings.Contains(problem, "permission denied") {
		t.Errorf("read %q, error %q, want that reading is refused", got, problem)
	}
	if got := readFile(t, secret); got != "secret" {
		t.Errorf("the file holds %q, want that it was left alone", got)
	}
}

func TestDirectoryTheUserCannotEnterIsALaunchFailure(t *testing.T) {
	s, job := nobodysJob(t)
	if err := os.Chown(job.Spec.WorkDir, 0, 0); err != nil {
		t.Fatal(err)
	}
	s.launch(job, script(""))
	if report := s.report(); report.Reason != core.ReasonJobLaunchFailure || !strings.Contains(report.Message, "working directory") {
		t.Errorf("report %+v, want a launch failure about the directory", report)
	}
}

func TestAccountIsRefusedWhenItCannotBeTakenOn(t *testing.T) {
	tests := []struct {
		name string
		self int
		uid  uint32
		want string
	}{
		{"agent is not root", 1000, 1001, "the agent runs as uid 1000"},
		{"user unknown here", 0, 3_999_999_999, "is not known on this node"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := resolveAccount(&core.JobSpec{User: "bob", UID: test.uid}, test.self)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
}
