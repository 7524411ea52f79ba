package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// agree holds a module against what the rewriter makes of it, and reports whether it
// was run: wazero must accept both, and every exported function give the same results, the
// same kind of trap and leave the same memory.
func agree(t testing.TB, original []byte) (ran bool) {
	t.Helper()
	ctx := t.Context()
	metered, err := Instrument(original)
	if valid(ctx, original) != nil || err != nil {
		return false
	}
	if err := valid(ctx, metered); err != nil {
		t.Fatalf("wazero accepts the original and not what was made of it: %v", err)
	}
	m, meteredErr := start(ctx, metered, 1e5, 1000)
	if errors.Is(meteredErr, errFuel) {
		return false // the original would not come to an end
	}
	p, plainErr := start(ctx, original, 0, 0)
	if (meteredErr == nil) != (plainErr == nil) {
		t.Fatalf("starts with %v, the original with %v", meteredErr, plainErr)
	}
	if plainErr != nil {
		return false // it imports what is not here, or its start traps
	}
	defer func() { _, _ = m.runtime.Close(ctx), p.runtime.Close(ctx) }()
	for _, params := range [][]uint64{{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 1, 2, 3, 1, 2}, {1 << 16, 5, 70, 0xffffffff, 9, 1 << 31, 3, 7}} {
		if !callAll(ctx, t, p, m, params) {
			break
		}
	}
	return true
}

// callAll calls every exported function of both. It stops at one that has no end or has
// trapped: a trap may leave what is written in pieces.
func callAll(ctx context.Context, t testing.TB, plain, metered *guest, params []uint64) (goOn bool) {
	t.Helper()
	definitions := plain.module.ExportedFunctionDefinitions()
	for _, name := range slices.Sorted(mapKeys(definitions)) {
		need := 0
		for _, typ := range definitions[name].ParamTypes() {
			need++
			if typ == 0x7b { // a vector is two
				need++
			}
			if typ == api.ValueTypeExternref || typ == 0x70 {
				need = 1 << 10 // no references from here
			}
		}
		if need > len(params) {
			continue
		}
		metered.limit = metered.used + 1e5
		got, gotErr := metered.call(ctx, name, params[:need]...)
		if errors.Is(gotErr, errFuel) {
			return false
		}
		want, wantErr := plain.call(ctx, name, params[:need]...)
		if trap(gotErr) != trap(wantErr) || !slices.Equal(got, want) && !references(definitions[name].ResultTypes()) {
			t.Fatalf("%s%v gives %v, %v; the original %v, %v", name, params[:need], got, gotErr, want, wantErr)
		}
		if gotErr != nil {
			return false
		}
	}
	if a, b := contents(plain.module), contents(metered.module); !bytes.Equal(a, b) {
		t.Fatalf("after calls with %v the memory is not the same", params)
	}
	return true
}

func mapKeys(m map[string]api.FunctionDefinition) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func references(types []api.ValueType) bool { return slices.Contains(types, api.ValueType(0x70)) }

// trap returns the first line of an error.
func trap(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func contents(m api.Module) []byte {
	if reflect.ValueOf(m.Memory()).IsNil() { // a nil in an interface
		return nil
	}
	all, _ := m.Memory().Read(0, m.Memory().Size())
	return all
}

// TestSpecificationsOwnModulesAgree takes the modules that wazero is tested with.
func TestSpecificationsOwnModulesAgree(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(strings.TrimSpace(string(dir)), "internal", "integration_test", "spectest")
	ran, refusals := 0, map[string]int{}
	for _, version := range []string{"v1", "v2"} {
		files, err := filepath.Glob(filepath.Join(suite, version, "testdata", "*.wasm"))
		if err != nil || len(files) < 1000 {
			t.Fatalf("%d modules in %s: %v", len(files), suite, err)
		}
		for i, file := range files {
			if i%every != 0 && !strings.HasPrefix(filepath.Base(file), "memory_") {
				continue
			}
			module, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if agree(t, module) {
				ran++
			}
			if _, err := Instrument(module); err != nil && valid(t.Context(), module) == nil {
				refusals[fmt.Sprint(err)]++
			}
			if t.Failed() {
				t.Fatal(file)
			}
		}
	}
	for err, n := range refusals {
		if !strings.Contains(err, "may not use") {
			t.Errorf("%d valid modules are refused: %s", n, err)
		}
	}
	t.Logf("%d modules ran, refused: %v", ran, refusals)
	if ran < 50 {
		t.Errorf("only %d modules ran", ran)
	}
}

// every is how many of the specification's modules there are to one that is tried.
const every = 7
