package test

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
)

// nemesis breaks a cluster in one way after the other, in an order, on replicas and for
// times that its seed decides.
type nemesis struct {
	t      testing.TB
	w      *wired
	random *rand.Rand
}

// fault breaks something about one replica until it returns. It leaves everything whole.
type fault struct {
	name   string
	strike func(n *nemesis, ctx context.Context, victim int)
}

var faults = []fault{
	{"cut off from both others", (*nemesis).split},
	{"cut off from one other", (*nemesis).bridge},
	{"deaf: sends and receives nothing", (*nemesis).deaf},
	{"mute: receives and sends nothing", (*nemesis).mute},
	{"cut off again and again", (*nemesis).flap},
	{"far away, over a bad line", (*nemesis).slow},
	{"killed and started again", (*nemesis).kill},
	{"stopped and continued", (*nemesis).pause},
}

// run goes rounds times through all faults, in a new order each time.
func (n *nemesis) run(ctx context.Context, rounds int) {
	for range rounds {
		order := slices.Clone(faults)
		n.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, f := range order {
			victim := n.random.IntN(len(n.w.replicas))
			role := "any"
			if leader := n.w.leads(); leader >= 0 && n.random.IntN(3) > 0 {
				victim, role = leader, "leader"
			}
			n.t.Logf("%s (%s) is %s", n.w.replicas[victim].name, role, f.name)
			f.strike(n, ctx, victim)
			n.w.net.heal()
			if !n.last(ctx, 300*time.Millisecond, 900*time.Millisecond) {
				return
			}
		}
	}
}

// last waits for a random time.
func (n *nemesis) last(ctx context.Context, least, most time.Duration) bool {
	return waitFor(ctx, least+time.Duration(n.random.Int64N(int64(most-least))))
}

func (n *nemesis) other(victim int) int {
	return (victim + 1 + n.random.IntN(len(n.w.replicas)-1)) % len(n.w.replicas)
}

// The longest of these outlasts an election with the default timeouts.
const (
	briefly = 300 * time.Millisecond
	longer  = 2500 * time.Millisecond
)

func (n *nemesis) split(ctx context.Context, victim int) {
	n.w.net.isolate(victim)
	n.last(ctx, briefly, longer)
}

func (n *nemesis) bridge(ctx context.Context, victim int) {
	n.w.net.between(victim, n.other(victim), quality{cut: true})
	n.last(ctx, briefly, longer)
}

func (n *nemesis) deaf(ctx context.Context, victim int) {
	for _, from := range n.w.all() {
		n.w.net.set(from, victim, quality{cut: true})
	}
	n.last(ctx, briefly, longer)
}

func (n *nemesis) mute(ctx context.Context, victim int) {
	for _, to := range n.w.all() {
		n.w.net.set(victim, to, quality{cut: true})
	}
	n.last(ctx, briefly, longer)
}

func (n *nemesis) flap(ctx context.Context, victim int) {
	for range 5 + n.random.IntN(5) {
		n.w.net.isolate(victim)
		n.last(ctx, 20*time.Millisecond, 400*time.Millisecond)
		n.w.net.heal()
		n.last(ctx, 20*time.Millisecond, 200*time.Millisecond)
	}
}

func (n *nemesis) slow(ctx context.Context, victim int) {
	n.w.net.around(victim, quality{
		delay: time.Duration(5+n.random.IntN(120)) * time.Millisecond,
		loss:  n.random.Float64() / 5,
	})
	n.last(ctx, longer/2, longer)
}

func (n *nemesis) kill(ctx context.Context, victim int) {
	n.w.replicas[victim].kill()
	n.last(ctx, briefly/10, longer)
	n.w.start(victim)
}

func (n *nemesis) pause(ctx context.Context, victim int) {
	daemon := n.w.replicas[victim].daemon()
	if err := syscall.Kill(daemon, syscall.SIGSTOP); err != nil {
		n.t.Error(err)
		return
	}
	n.last(ctx, briefly, longer)
	if err := syscall.Kill(daemon, syscall.SIGCONT); err != nil {
		n.t.Error(err)
	}
}
