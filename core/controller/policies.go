package controller

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/plugin"
	"github.com/rowelhq/rowel/core/scheduler"
)

// policy is a guest as the scheduler knows it.
type policy struct{ *plugin.Plugin }

var _ scheduler.Policy = policy{}

// Name says what placed a job, such as "backfill@1.0.0".
func (p policy) Name() string { return p.Manifest().Name + "@" + p.Manifest().Version }

// Strike counts an illegal proposal.
func (p policy) Strike(kind string, cause error) { p.Plugin.Strike(plugin.FaultKind(kind), cause) }

// strikes returns how many faults have been counted.
func (p policy) strikes() (total uint64) {
	for _, n := range p.Stats().Strikes {
		total += n
	}
	return total
}

// openPlugins loads the embedded policy, and the one of the configuration if there is
// one. The embedded one then stands behind it.
func (c *Controller) openPlugins(ctx context.Context) (err error) {
	c.plugins, err = plugin.Open(ctx, plugin.Config{
		CacheDir: filepath.Join(c.config.DataDir, "cache"),
		Logger:   c.log.Named("plugin"),
	})
	if err != nil {
		return err
	}
	embedded, err := c.load(ctx, "the embedded policy", plugin.Embedded())
	if err != nil {
		return err
	}
	c.policy, c.fallback = embedded, embedded
	path := c.config.Plugins.Policy
	if path == "" {
		return nil
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return core.Errorf(core.Invalid, "plugins.policy: %w", err)
	}
	c.policy, err = c.load(ctx, path, wasm)
	return err
}

func (c *Controller) load(ctx context.Context, name string, wasm []byte) (policy, error) {
	limits := plugin.Limits{
		Memory:   int64(c.config.Plugins.Memory),
		Fuel:     int64(c.config.Plugins.Fuel) * 1e6,
		Deadline: c.config.Plugins.Deadline,
		Strikes:  c.config.Plugins.Strikes,
	}
	loaded, err := c.plugins.Load(ctx, name, wasm, limits)
	if err != nil {
		return policy{}, core.Errorf(core.Invalid, "plugins.policy: %w", err)
	}
	c.loaded = append(c.loaded, loaded)
	manifest := loaded.Manifest()
	c.log.Info("policy loaded", "plugin", manifest.Name, "plugin_version", manifest.Version, "sha256", loaded.SHA256())
	return policy{loaded}, nil
}
