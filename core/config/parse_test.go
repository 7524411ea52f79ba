package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowelhq/rowel/core/config"
)

// values compares what two configurations say, wherever they were read from.
var values = cmp.Options{cmpopts.IgnoreUnexported(config.Config{}), cmpopts.EquateEmpty()}

func TestParseOfNothingGivesTheDefaults(t *testing.T) {
	got, err := config.Parse("empty.hcl", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got, values); diff != "" {
		t.Error(diff)
	}
}

func TestParseReadsEveryKindOfValue(t *testing.T) {
	got, err := config.Parse("site.hcl", []byte(`
name     = "ctl-1"
insecure = true
raft {
  listen           = "10.0.0.1:6821"
  advertise        = "ctl-1:6821"
  peers            = ["ctl-1:6821", "ctl-2:6821", "ctl-3:6821"]
  bootstrap_expect = 3
  stall_timeout    = "1m30s"
}
probes { enabled = false }
agent {
  labels = { rack = "r1", "gpu-kind" = "none" }
  memory = "60GiB"
}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Name, want.Insecure = "ctl-1", true
	want.Raft.Listen, want.Raft.Advertise = "10.0.0.1:6821", "ctl-1:6821"
	want.Raft.Peers = []string{"ctl-1:6821", "ctl-2:6821", "ctl-3:6821"}
	want.Raft.BootstrapExpect = 3
	want.Raft.StallTimeout = 90 * time.Second
	want.Probes.Enabled = false
	want.Agent.Labels = map[string]string{"rack": "r1", "gpu-kind": "none"}
	want.Agent.Memory = 60 * config.GiB
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Error(diff)
	}
}

// Each file in testdata has beside it, in .want, the exact report a user reads.
func TestParseReportsEveryProblemWithItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".hcl") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			_, got := config.Load(file)
			var problems config.Problems
			if !errors.As(got, &problems) {
				t.Fatalf("Load gave %v, want Problems", got)
			}
			if diff := cmp.Diff(string(want), got.Error()+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadNamesAFileItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.hcl")
	_, err := config.Load(path)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Load gave %v, want not-exist with the path", err)
	}
}

func TestLoadRefusesAFileTooLargeToBeAConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.hcl")
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("Load gave %v, want a complaint about its size", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.hcl", "../../config.hcl.example"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			seed, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(seed)
		}
	}
	f.Add([]byte(`raft { peers = [for i in [1, 2] : "h:${i}"] }`))
	f.Add([]byte("name = \"\x00\xff\""))
	f.Add([]byte(`agent { cpus = 1e999999 }`))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := config.Parse("fuzz.hcl", src)
		var problems config.Problems
		switch {
		case err == nil && c.Check() != nil:
			t.Errorf("Parse accepted what Check refuses: %v", c.Check())
		case err != nil && (!errors.As(err, &problems) || len(problems) == 0):
			t.Errorf("Parse gave %#v, want Problems", err)
		}
		for _, p := range problems {
			if p.File != "fuzz.hcl" || p.Text == "" || strings.Contains(p.String(), "\n") {
				t.Errorf("a problem must be one line with its file: %q", p)
			}
		}
	})
}
