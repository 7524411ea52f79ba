package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tetratelabs/wazero"

	"github.com/rowelhq/rowel/core/plugin/meter"
)

// codeCache is the directory that keeps the machine code of one module, sealed with a
// checksum: wazero checks only a part of what it reads back, and would run or size
// buffers by the rest.
type codeCache struct{ dir string }

const sealFile = "sha256"

func openCodeCache(root, sha string) codeCache { return codeCache{filepath.Join(root, sha)} }

// buildCached compiles with the cache, which is emptied first unless it is sealed. After
// any error the cache is empty again, so that a damaged one heals.
func buildCached(ctx context.Context, module []byte, c codeCache, sealed bool) (*engine, error) {
	if !sealed {
		if err := os.RemoveAll(c.dir); err != nil {
			return nil, fmt.Errorf("empty the code cache: %w", err)
		}
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(c.dir, "code"))
	if err != nil {
		return nil, fmt.Errorf("open the code cache: %w", err)
	}
	before := c.files()
	e, err := newEngine(ctx, module, cache)
	if err == nil && (!sealed || !slices.Equal(before, c.files())) { // another wazero adds its own file
		if err = c.seal(); err != nil {
			e.close(ctx)
		}
	}
	if err != nil {
		_ = os.RemoveAll(c.dir)
		return nil, err
	}
	return e, nil
}

func (c codeCache) files() []string {
	names, _ := filepath.Glob(filepath.Join(c.dir, "code", "*", "*")) // the pattern is well formed
	return names
}

// check returns an error unless the code is what was sealed.
func (c codeCache) check() error {
	want, err := os.ReadFile(filepath.Join(c.dir, sealFile))
	if err != nil {
		return fmt.Errorf("read the code cache's seal: %w", err)
	}
	got, err := c.sum()
	if err != nil {
		return err
	}
	if got != string(want) {
		return fmt.Errorf("the code cache %s is not what was sealed", c.dir)
	}
	return nil
}

func (c codeCache) seal() error {
	sum, err := c.sum()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, sealFile), []byte(sum), 0o600); err != nil {
		return fmt.Errorf("seal the code cache: %w", err)
	}
	return nil
}

// sum hashes names and contents of the code files, and what made the module of the plugin's.
func (c codeCache) sum() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "meter %d\n", meter.Version)
	for _, path := range c.files() {
		code, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the code cache: %w", err)
		}
		fmt.Fprintf(hash, "%q %d\n", filepath.Base(path), len(code))
		hash.Write(code)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
