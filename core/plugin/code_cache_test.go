package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core/plugin/meter"
)

// machineCode returns the files of the cache that hold code.
func machineCode(t *testing.T, cacheDir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cacheDir, "*", "code", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the cache has the files %v, want one (%v)", files, err)
	}
	return files
}

func TestCompiledCodeIsKeptBetweenLoads(t *testing.T) {
	cfg := Config{CacheDir: t.TempDir()}
	loadWith(t, cfg, minimal().bytes(), Limits{})
	file := machineCode(t, cfg.CacheDir)[0]
	written, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	loadWith(t, cfg, minimal().bytes(), Limits{})
	again, err := os.Stat(machineCode(t, cfg.CacheDir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(written, again) {
		t.Error("the code was compiled again")
	}
}

func TestDamagedCacheIsThrownAwayAndWrittenAgain(t *testing.T) {
	damages := map[string]func(t *testing.T, file string){
		"truncated": func(t *testing.T, file string) { must(t, os.Truncate(file, 40)) },
		"empty":     func(t *testing.T, file string) { must(t, os.Truncate(file, 0)) },
		"a byte of the code": func(t *testing.T, file string) {
			flip(t, file, func(size int) int { return size / 2 })
		},
		"the number of functions": func(t *testing.T, file string) {
			flip(t, file, func(int) int { return 6 + 1 + 6 + 3 })
		},
		"no seal": func(t *testing.T, file string) {
			must(t, os.Remove(filepath.Join(filepath.Dir(file), "..", "..", sealFile)))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			cfg := Config{CacheDir: t.TempDir()}
			loadWith(t, cfg, minimal().bytes(), Limits{})
			file := machineCode(t, cfg.CacheDir)[0]
			whole, err := os.ReadFile(file)
			must(t, err)
			damage(t, file)
			// An attentive kernel would give a new file the old time: take no chance.
			must(t, os.Chtimes(filepath.Dir(file), time.Time{}, time.Unix(0, 0)))
			p := loadWith(t, cfg, minimal().bytes(), Limits{})
			if p.Manifest().Name != "least" {
				t.Errorf("the name is %q", p.Manifest().Name)
			}
			healed, err := os.ReadFile(machineCode(t, cfg.CacheDir)[0])
			must(t, err)
			if len(healed) != len(whole) {
				t.Errorf("the cache has %d bytes, %d before it was damaged", len(healed), len(whole))
			}
		})
	}
}

func TestCacheThatCannotBeWrittenCostsOnlyTime(t *testing.T) {
	cfg := Config{CacheDir: t.TempDir()}
	loaded := loadWith(t, cfg, minimal().bytes(), Limits{})
	dir := filepath.Join(cfg.CacheDir, loaded.SHA256())
	must(t, os.RemoveAll(dir))
	must(t, os.WriteFile(filepath.Join(cfg.CacheDir, "taken"), nil, 0o600))
	// The cache's own place is inside what is now a file.
	host := &Host{cacheDir: filepath.Join(cfg.CacheDir, "taken"), log: loaded.log}
	p, err := host.Load(t.Context(), "least.wasm", minimal().bytes(), Limits{})
	must(t, err)
	must(t, p.Close(t.Context()))
}

func TestCodeOfAnotherRewriterIsNotUsed(t *testing.T) {
	cfg := Config{CacheDir: t.TempDir()}
	cache := openCodeCache(cfg.CacheDir, loadWith(t, cfg, minimal().bytes(), Limits{}).SHA256())
	must(t, cache.check())
	code, err := os.ReadFile(machineCode(t, cfg.CacheDir)[0])
	must(t, err)
	for version, same := range map[int]bool{meter.Version: true, meter.Version + 1: false} {
		hash := sha256.New()
		fmt.Fprintf(hash, "meter %d\n%q %d\n", version, filepath.Base(machineCode(t, cfg.CacheDir)[0]), len(code))
		hash.Write(code)
		must(t, os.WriteFile(filepath.Join(cache.dir, sealFile), []byte(hex.EncodeToString(hash.Sum(nil))), 0o600))
		if err := cache.check(); (err == nil) != same {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func flip(t *testing.T, file string, at func(size int) int) {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	content[at(len(content))] ^= 0x7f
	must(t, os.WriteFile(file, content, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
