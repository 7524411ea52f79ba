package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/sdk/abi"
)

// ErrClosed is what a closed plugin answers.
var ErrClosed = errors.New("the plugin is closed")

// Plugin is a module that was accepted. Its methods are safe for concurrent use; calls
// into the guest wait for one another.
type Plugin struct {
	manifest abi.Manifest
	sha256   string
	limits   Limits
	log      hclog.Logger
	breaker  *breaker
	ledger   ledger

	turn    chan struct{} // holds a token while nobody calls; who has it owns what is below
	engine  *engine       // nil: closed
	current *instance     // nil: the next call starts one
	output  output
	tank    tank
}

func newPlugin(sha string, limits Limits, log hclog.Logger) *Plugin {
	p := &Plugin{sha256: sha, limits: limits, log: log, breaker: newBreaker(limits), turn: make(chan struct{}, 1)}
	p.output.log, p.output.tank = log, &p.tank
	p.turn <- struct{}{}
	return p
}

// introduce inspects the module, starts the first instance and takes its manifest.
func (p *Plugin) introduce(ctx context.Context) error {
	if err := inspect(p.engine.module, p.limits.Memory); err != nil {
		return err
	}
	if err := p.engine.offer(ctx, &p.output); err != nil {
		return err
	}
	err := p.guarded(ctx, func(ctx context.Context, i *instance) error {
		answer, err := i.ask(ctx, i.describe, maxManifest)
		if err != nil {
			return err
		}
		p.manifest, err = parseManifest(answer)
		if err != nil {
			return &Fault{FaultMalformed, err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.log = p.log.With("plugin", p.manifest.Name, "plugin_version", p.manifest.Version)
	p.output.log = p.log
	return nil
}

// Manifest returns how the plugin describes itself.
func (p *Plugin) Manifest() abi.Manifest { return p.manifest }

// SHA256 returns the hexadecimal digest of the module's bytes, by which it is known.
func (p *Plugin) SHA256() string { return p.sha256 }

// Cycle runs one scheduling cycle. It blocks while another call runs, and then at most
// for the deadline and one step of the guest. Any failure of the guest is a *Fault, counts as a strike, and costs the
// instance: the next call has a fresh one. When ctx ends first, its error is returned
// and nobody is blamed. An open circuit does not stop Cycle: whether to ask is the caller's decision.
func (p *Plugin) Cycle(ctx context.Context, picture *abi.Picture) (*abi.Plan, error) {
	if err := p.acquire(ctx); err != nil {
		return nil, err
	}
	defer p.release()
	began := time.Now()
	var plan *abi.Plan
	var pages uint32
	err := p.guarded(ctx, func(ctx context.Context, i *instance) (err error) {
		plan, err = i.plan(ctx, picture)
		pages = uint32(i.memory.usable / pageSize)
		return err
	})
	took := time.Since(began)
	if err == nil && p.isBloated() {
		p.discard(ctx)
	}
	p.ledger.change(func(s *Stats) {
		s.Cycles++
		s.LastDuration, s.LastFuel = took, p.tank.used
		if err == nil {
			s.MemoryPages = pages
		}
	})
	var fault *Fault
	if errors.As(err, &fault) {
		p.Strike(fault.Kind, fault.Cause)
	}
	if err != nil {
		return nil, fmt.Errorf("policy %s %s: %w", p.manifest.Name, p.manifest.Version, err)
	}
	return plan, nil
}

// isBloated reports whether the instance has grown so far that a fresh one is due. A
// guest's memory never shrinks, and the Go runtime in a guest, which cannot collect
// between two calls, now and then lets it grow until the limit stops an innocent cycle. A
// guest keeps nothing, so a fresh instance costs some milliseconds and nobody a strike.
func (p *Plugin) isBloated() bool {
	return p.current.memory.usable > uint64(p.limits.Memory)/2
}

// guarded runs f on the current instance, or a fresh one, within the limits of fuel and
// time, and throws the instance away after any error. Only who has the turn may call it.
func (p *Plugin) guarded(ctx context.Context, f func(context.Context, *instance) error) error {
	p.output.reset()
	defer p.output.finish()
	p.tank.begin(ctx, p.limits)
	err := p.ensure(ctx)
	if err == nil {
		err = p.blame(ctx, f(ctx, p.current))
	}
	p.tank.end()
	if err != nil {
		p.discard(ctx)
	}
	return err
}

// ensure starts an instance if there is none.
func (p *Plugin) ensure(ctx context.Context) error {
	if p.current != nil {
		return nil
	}
	var err error
	p.current, err = p.engine.start(ctx, p.limits, &p.output)
	err = p.blame(ctx, err)
	var fault *Fault
	if errors.As(err, &fault) {
		return &Fault{FaultStart, fmt.Errorf("it does not start: %w", fault.Cause)}
	}
	if err == nil {
		p.ledger.change(func(s *Stats) { s.Instances++ })
	}
	return err
}

// blame says whose fault an error is: the caller's, if it gave up, or the guest's.
func (p *Plugin) blame(ctx context.Context, err error) error {
	var fault *Fault
	if err == nil || errors.As(err, &fault) {
		return err
	}
	if errors.Is(err, errCallerGone) {
		return fmt.Errorf("call the guest: %w", context.Cause(ctx))
	}
	return classify(err, p.current.memory.denied, p.limits, p.output.words())
}

func (p *Plugin) discard(ctx context.Context) {
	p.tank.drain()
	if p.current != nil {
		p.current.close(context.WithoutCancel(ctx))
		p.current = nil
	}
}

// Strike holds something against the plugin that only the caller can see, such as a
// proposal that the state machine refuses. It does not touch the instance and logs only
// that the circuit opens.
func (p *Plugin) Strike(kind FaultKind, cause error) {
	p.ledger.strike(kind, cause)
	opened := p.breaker.strike()
	if opened {
		p.log.Error("plugin circuit opened", "strikes", p.limits.Strikes, "window", p.limits.Window)
	}
}

// Open reports whether the circuit is open: too many strikes, and nobody has reset it.
func (p *Plugin) Open() bool { return p.breaker.isOpen() }

// Reset closes the circuit and forgets the strikes that led to it. The totals in Stats stay.
func (p *Plugin) Reset() { p.breaker.reset() }

// Stats returns the figures so far. It does not wait for a call that runs.
func (p *Plugin) Stats() Stats {
	s := p.ledger.read()
	s.Open, s.FuelLimit = p.breaker.isOpen(), p.limits.Fuel
	return s
}

// Close waits for a call that runs, or for ctx, and frees everything. Calls after it
// answer ErrClosed; closing again does nothing.
func (p *Plugin) Close(ctx context.Context) error {
	if err := p.acquire(ctx); errors.Is(err, ErrClosed) {
		return nil
	} else if err != nil {
		return fmt.Errorf("close plugin %s: %w", p.manifest.Name, err)
	}
	defer p.release()
	p.discard(ctx)
	p.engine.close(ctx)
	p.engine = nil
	return nil
}

func (p *Plugin) acquire(ctx context.Context) error {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.engine == nil {
		p.release()
		return ErrClosed
	}
	return nil
}

func (p *Plugin) release() { p.turn <- struct{}{} }
