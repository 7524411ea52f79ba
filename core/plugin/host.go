package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/core/plugin/meter"
)

// MaxModuleSize is the largest module that is accepted, in bytes.
const MaxModuleSize = 32 << 20

// Config is what a host needs.
type Config struct {
	// CacheDir keeps compiled machine code between starts; empty: nowhere. What is in it is
	// run without further question: nobody else may write there.
	CacheDir string
	Logger   hclog.Logger // nil: silent
}

// Limits are the bounds of one plugin. What is zero has the default.
type Limits struct {
	Memory   int64         // bytes of one instance, default 256 MiB
	Fuel     int64         // of one call, default 20e9 units; package meter says what one buys
	Deadline time.Duration // of one call, default 5 s
	Strikes  int           // how many within Window open the circuit, default 3
	Window   time.Duration // default 10 min
}

const maxMemory = 4 << 30 // what a 32-bit guest can address

func (l Limits) withDefaults() (Limits, error) {
	if l.Memory == 0 {
		l.Memory = 256 << 20
	}
	if l.Fuel == 0 {
		l.Fuel = 20e9
	}
	if l.Deadline == 0 {
		l.Deadline = 5 * time.Second
	}
	if l.Strikes == 0 {
		l.Strikes = 3
	}
	if l.Window == 0 {
		l.Window = 10 * time.Minute
	}
	if l.Memory < pageSize || l.Memory > maxMemory || l.Fuel < 0 || l.Deadline < 0 || l.Strikes < 0 || l.Window < 0 {
		return l, fmt.Errorf("limits %+v: memory is from 64 KiB to 4 GiB, the others are positive", l)
	}
	return l, nil
}

// Host loads plugins. It is safe for concurrent use and holds nothing that must be closed.
type Host struct {
	cacheDir string
	log      hclog.Logger
	compile  sync.Mutex // one compilation at a time: each takes a core for a second
}

// Open returns a host and makes its cache directory.
func Open(_ context.Context, cfg Config) (*Host, error) {
	if cfg.CacheDir != "" {
		if err := os.MkdirAll(cfg.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("make the plugin cache: %w", err)
		}
	}
	log := cfg.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &Host{cacheDir: cfg.CacheDir, log: log}, nil
}

// Load compiles a module, starts an instance of it and asks it to describe itself. name
// is only for messages about a module that has not said its own yet, such as a file's
// path. An error says in a sentence what is wrong with the module; a *Fault in it says
// that the module was run and failed. Compiling takes up to a second for each 2 MiB when the
// cache does not know the module, and ctx does not end it.
func (h *Host) Load(ctx context.Context, name string, module []byte, limits Limits) (*Plugin, error) {
	p, err := h.load(ctx, module, limits)
	if err != nil {
		return nil, fmt.Errorf("load plugin %q: %w", name, err)
	}
	return p, nil
}

func (h *Host) load(ctx context.Context, module []byte, limits Limits) (*Plugin, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(module) > MaxModuleSize {
		return nil, fmt.Errorf("the module has %d bytes, the most is %d", len(module), MaxModuleSize)
	}
	sum := sha256.Sum256(module)
	p := newPlugin(hex.EncodeToString(sum[:]), limits, h.log)
	if p.engine, err = h.build(ctx, module, p.sha256); err != nil {
		return nil, err
	}
	if err := p.introduce(ctx); err != nil {
		p.discard(ctx)
		p.engine.close(ctx)
		return nil, err
	}
	return p, nil
}

// build compiles the module with a fuel counter in it, from the cache where that works. A
// cache that cannot be read or written costs time, never a plugin.
func (h *Host) build(ctx context.Context, module []byte, sha string) (*engine, error) {
	h.compile.Lock()
	defer h.compile.Unlock()
	module, err := preflight(module)
	if err != nil {
		return nil, err
	}
	cache := openCodeCache(h.cacheDir, sha)
	sealed := h.cacheDir != "" && cache.check() == nil
	if !sealed { // what is sealed was valid when it was compiled
		if err := validate(ctx, module); err != nil {
			return nil, err
		}
	}
	metered, err := meter.Instrument(module) // knows what a module means only if it is valid
	if err != nil {
		return nil, err
	}
	if h.cacheDir != "" {
		e, err := buildCached(ctx, metered, cache, sealed)
		if err == nil {
			return e, nil
		}
		h.log.Debug("compiling without the plugin cache", "sha256", sha, "error", err)
	}
	return newEngine(ctx, metered, nil)
}
