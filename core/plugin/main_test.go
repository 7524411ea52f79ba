package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

// zooModule is testdata/zoo, built by TestMain; sharedCache keeps its machine code.
var (
	zooModule   []byte
	sharedCache string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rowel-plugin-test")
	if err != nil {
		panic(err)
	}
	sharedCache = filepath.Join(dir, "cache")
	if zooModule, err = buildGuest(filepath.Join(dir, "zoo.wasm"), "./testdata/zoo"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func buildGuest(to, from string) ([]byte, error) {
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to, from)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build guest %s: %w\n%s", from, err, said)
	}
	return os.ReadFile(to)
}

// load loads a module that must be accepted, on a host that uses the shared cache.
func load(t testing.TB, module []byte, limits Limits) *Plugin {
	t.Helper()
	return loadWith(t, Config{CacheDir: sharedCache}, module, limits)
}

func loadWith(t testing.TB, cfg Config, module []byte, limits Limits) *Plugin {
	t.Helper()
	host, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Load(t.Context(), t.Name(), module, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// refuse loads a module that must not be accepted and returns the error.
func refuse(t *testing.T, module []byte, limits Limits) error {
	t.Helper()
	host, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Load(t.Context(), "bad.wasm", module, limits)
	if err == nil {
		_ = p.Close(context.Background())
		t.Fatal("the module was accepted")
	}
	return err
}

// picture is a small cluster; the zoo takes the seed as what to do.
func picture(seed uint64) *abi.Picture {
	p := sdktest.New().Nodes(2, 8, 1000).
		Queue(sdktest.Job{ID: 1, CPUs: 4, Limit: time.Hour}, sdktest.Job{ID: 2}, sdktest.Job{ID: 3}).Picture()
	p.Cycle, p.Seed = 42, seed
	return p
}

// recorder is a logger that keeps what it is told.
func recorder() (hclog.Logger, *strings.Builder) {
	var said strings.Builder
	return hclog.New(&hclog.LoggerOptions{Output: &said, Level: hclog.Debug, DisableTime: true}), &said
}
