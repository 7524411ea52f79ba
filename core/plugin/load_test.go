package plugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk/abi"
)

func TestEmbeddedPolicyDescribesItself(t *testing.T) {
	p := load(t, Embedded(), Limits{})
	want := abi.Manifest{
		ABI: 1, Kind: "policy", Name: "backfill", Version: "0.1.0",
		Description: "Priority order, best fit, EASY backfill.",
	}
	if diff := cmp.Diff(want, p.Manifest()); diff != "" {
		t.Error(diff)
	}
	if len(p.SHA256()) != 64 {
		t.Errorf("the digest is %q", p.SHA256())
	}
}

func TestLeastModuleIsAPlugin(t *testing.T) {
	if name := load(t, minimal().bytes(), Limits{}).Manifest().Name; name != "least" {
		t.Errorf("the name is %q", name)
	}
}

func TestModuleIsRefusedInASentenceBeforeItRuns(t *testing.T) {
	wrongType := minimal().rename(abi.ExportAlloc, "").set(abi.ExportAlloc, nil)
	tests := map[string]struct {
		module []byte
		want   string
	}{
		"empty":            {nil, "not a valid WebAssembly module"},
		"not wasm":         {[]byte("#!/bin/sh\n"), "not a valid WebAssembly module"},
		"truncated":        {minimal().bytes()[:90], "not a valid WebAssembly module"},
		"too large":        {make([]byte, MaxModuleSize+1), "the most is 33554432"},
		"no plugin":        {(&asm{pages: 1, exports: []asmFunction{{name: "run"}}}).bytes(), "not a Rowel plugin: it exports no function rowel_abi_v1"},
		"future ABI":       {minimal().rename(abi.ExportVersion, "rowel_abi_v2").bytes(), "built for ABI 2, this controller speaks ABI 1"},
		"no cycle":         {minimal().rename(abi.ExportPolicyCycle, "").bytes(), "exports no function rowel_policy_cycle"},
		"wrong type":       {wrongType.bytes(), "rowel_alloc has type () -> (), it must have (i32) -> (i32)"},
		"foreign import":   {withImport(asmImport{"env", "abort", 4}), `imports "abort" from "env"`},
		"WASI file access": {withImport(asmImport{wasiModule, "path_open", 9}), `imports "path_open" from "wasi_snapshot_preview1"`},
		"host import":      {withImport(asmImport{abi.ImportModule, "exec", 2}), `imports "exec" from "rowel"`},
		"no memory":        {(&asm{pages: -1, exports: minimal().exports}).bytes(), `exports no memory named "memory"`},
		"4 GiB at once":    {(&asm{pages: 65536, exports: minimal().exports}).bytes(), "starts with 4096 MiB of memory, its limit is 256 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := refuse(t, test.module, Limits{})
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `load plugin "bad.wasm"`) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if errors.As(err, new(*Fault)) {
				t.Errorf("%v: the module was run", err)
			}
		})
	}
}

func withImport(i asmImport) []byte {
	a := minimal()
	a.imports = append(a.imports, i)
	return a.bytes()
}

func TestModuleThatDoesNotStartIsRefused(t *testing.T) {
	tests := map[string]struct {
		module []byte
		kind   FaultKind
		want   string
	}{
		"traps":              {minimal().set(abi.ExportInitialize, unreachable).bytes(), FaultStart, "it does not start: wasm error: unreachable"},
		"loops":              {minimal().set(abi.ExportInitialize, forever).bytes(), FaultStart, "it does not start: no answer within 100ms"},
		"minor version":      {minimal().set(abi.ExportVersion, constI32(abi.Minor+1)).bytes(), FaultStart, fmt.Sprintf("built for ABI 1.%d", abi.Minor+1)},
		"describe traps":     {minimal().set(abi.ExportDescribe, unreachable).bytes(), FaultTrap, "unreachable"},
		"describe outside":   {minimal().set(abi.ExportDescribe, constI64(int64(abi.NewResult(65530, 100)))).bytes(), FaultMalformed, "outside its memory"},
		"manifest too large": {minimal().set(abi.ExportDescribe, constI64(int64(abi.NewResult(0, maxManifest+1)))).bytes(), FaultOutput, "the most is 65536"},
		"manifest not JSON":  {minimal().manifest("hello").bytes(), FaultMalformed, "not the JSON of a manifest"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := refuse(t, test.module, Limits{Deadline: 100 * time.Millisecond})
			var fault *Fault
			if !errors.As(err, &fault) || fault.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a fault of kind %s with %q", err, test.kind, test.want)
			}
		})
	}
}

func TestGoGuestNeedsMoreThanTwoMiB(t *testing.T) {
	err := refuse(t, Embedded(), Limits{Memory: 2 << 20})
	if !strings.Contains(err.Error(), "its limit is 2 MiB") {
		t.Error(err)
	}
}

func TestImpossibleLimitsAreRefused(t *testing.T) {
	for _, limits := range []Limits{{Memory: 1}, {Memory: 5 << 30}, {Deadline: -1}, {Strikes: -1}, {Window: -1}} {
		if err := refuse(t, minimal().bytes(), limits); !strings.Contains(err.Error(), "limits") {
			t.Errorf("%+v: %v", limits, err)
		}
	}
}
