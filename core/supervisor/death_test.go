package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core/supervisor"
)

// die runs the watch over one death and returns how long the exit took.
func die(t *testing.T, w supervisor.DeathWatch) time.Duration {
	t.Helper()
	died := make(chan supervisor.Death, 1)
	exited := make(chan int, 1)
	w.Code, w.Exit = 70, func(code int) { exited <- code }
	began := time.Now()
	died <- supervisor.Death{Kind: "log-store", Cause: errors.New("no space left"), Since: began.Add(-250 * time.Millisecond)}
	w.Run(t.Context(), died)
	if code := <-exited; code != 70 {
		t.Errorf("exit %d", code)
	}
	return time.Since(began)
}

func TestDeathFailsProbesThenRequestsThenLogsThenExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var text bytes.Buffer
		die(t, supervisor.DeathWatch{
			Logger:         hclog.New(&hclog.LoggerOptions{Output: &text, DisableTime: true}),
			FailProbes:     func(supervisor.Death) { order = append(order, "probes") },
			RefuseRequests: func(d supervisor.Death) { order = append(order, "requests: "+d.Cause.Error()) },
			Facts:          func() []any { order = append(order, "facts"); return []any{"term", 7} },
		})
		if diff := cmp.Diff([]string{"probes", "requests: no space left", "facts"}, order); diff != "" {
			t.Error(diff)
		}
		want := `[ERROR] the core is dead: kind=log-store error="no space left" noticed_after=250ms term=7` + "\n"
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// stuck is standard error when nobody reads it.
type stuck struct{ release <-chan struct{} }

func (s stuck) Write(p []byte) (int, error) { <-s.release; return len(p), nil }

func TestDeathExitsWithinASecondWhateverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hang := func(supervisor.Death) { <-release }
		took := die(t, supervisor.DeathWatch{
			Logger:         hclog.New(&hclog.LoggerOptions{Output: stuck{release}}),
			FailProbes:     hang,
			RefuseRequests: hang,
			Facts:          func() []any { <-release; return nil },
		})
		if took >= time.Second {
			t.Errorf("exit after %v", took)
		}
	})
}

func TestDeathIsLoggedAlthoughACallbackPanics(t *testing.T) {
	var text bytes.Buffer
	die(t, supervisor.DeathWatch{
		Logger:         hclog.New(&hclog.LoggerOptions{Output: &text}),
		FailProbes:     func(supervisor.Death) { panic("probe") },
		RefuseRequests: func(supervisor.Death) { panic("api") },
		Facts:          func() []any { panic("facts") },
	})
	if got := strings.Count(text.String(), "\n"); got != 1 || !strings.Contains(text.String(), "no space left") {
		t.Errorf("log %q, want one line with the cause", text.String())
	}
}

func TestDeathBeforeTheStopCounts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	died := make(chan supervisor.Death, 1)
	died <- supervisor.Death{Kind: "raft"}
	exited := false
	w := supervisor.DeathWatch{Logger: hclog.NewNullLogger(), Exit: func(int) { exited = true }}
	w.Run(ctx, died)
	if !exited {
		t.Error("a death was lost because a stop was asked for as well")
	}
}

func TestDeathWatchEndsQuietlyWithoutADeath(t *testing.T) {
	w := supervisor.DeathWatch{Logger: hclog.NewNullLogger(), Exit: func(int) { t.Error("exit without a death") }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ctx, make(chan supervisor.Death))
	closed := make(chan supervisor.Death)
	close(closed)
	w.Run(t.Context(), closed)
}
