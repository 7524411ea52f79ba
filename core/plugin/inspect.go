package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/rowelhq/rowel/core/plugin/meter"
	"github.com/rowelhq/rowel/sdk/abi"
)

const wasiModule = "wasi_snapshot_preview1"

// wasiFunctions is what Go guests import: the first ten all of them, the others those that
// use package fmt or os. None reaches anything: arguments and environment are empty, clock
// and random numbers are not real, and the only descriptors are the standard three.
var wasiFunctions = []string{
	"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get",
	"fd_write", "poll_oneoff", "proc_exit", "random_get", "sched_yield",
	"fd_close", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_dir_name", "fd_prestat_get",
}

// signature is what an export must look like.
type signature struct {
	name            string
	params, results []api.ValueType
	optional        bool
}

var (
	i32 = []api.ValueType{api.ValueTypeI32}
	i64 = []api.ValueType{api.ValueTypeI64}

	policyExports = []signature{
		{name: abi.ExportInitialize, optional: true}, // a guest without a runtime of its own needs none
		{name: abi.ExportVersion, results: i32},
		{name: abi.ExportAlloc, params: i32, results: i32},
		{name: abi.ExportDescribe, results: i64},
		{name: abi.ExportConfigure, params: i32, results: i64, optional: true},
		{name: abi.ExportPolicyCycle, params: i32, results: i64},
	}
)

// inspect refuses, before it runs, a module that is no plugin of this ABI, asks for more than
// a guest gets, or starts with more memory than its limit.
func inspect(module wazero.CompiledModule, memoryLimit int64) error {
	if err := inspectVersion(module.ExportedFunctions()); err != nil {
		return err
	}
	if len(module.ImportedMemories()) > 0 {
		return fmt.Errorf("the module imports its memory; a plugin exports its own")
	}
	for _, f := range module.ImportedFunctions() {
		from, name, _ := f.Import()
		known := from == abi.ImportModule && name == abi.ImportLog || from == wasiModule && slices.Contains(wasiFunctions, name) ||
			from == meter.ImportModule // the meter has put it there itself
		if !known {
			return fmt.Errorf("the module imports %q from %q, which no plugin is given", name, from)
		}
	}
	memory := module.ExportedMemories()[abi.ExportMemory]
	if memory == nil {
		return fmt.Errorf("the module exports no memory named %q", abi.ExportMemory)
	}
	if least := int64(memory.Min()) * pageSize; least > memoryLimit {
		return fmt.Errorf("the module starts with %d MiB of memory, its limit is %d MiB", least>>20, memoryLimit>>20)
	}
	return inspectExports(module.ExportedFunctions())
}

func inspectVersion(exports map[string]api.FunctionDefinition) error {
	if exports[abi.ExportVersion] != nil {
		return nil
	}
	prefix := strings.TrimSuffix(abi.ExportVersion, strconv.Itoa(abi.Major))
	for name := range exports {
		if major, err := strconv.ParseUint(strings.TrimPrefix(name, prefix), 10, 16); err == nil && strings.HasPrefix(name, prefix) {
			return fmt.Errorf("the module is built for ABI %d, this controller speaks ABI %d", major, abi.Major)
		}
	}
	return fmt.Errorf("the module is not a Rowel plugin: it exports no function %s", abi.ExportVersion)
}

func inspectExports(exports map[string]api.FunctionDefinition) error {
	for _, want := range policyExports {
		got := exports[want.name]
		if got == nil && want.optional {
			continue
		}
		if got == nil {
			return fmt.Errorf("the module exports no function %s", want.name)
		}
		if !slices.Equal(got.ParamTypes(), want.params) || !slices.Equal(got.ResultTypes(), want.results) {
			return fmt.Errorf("the function %s has type %s, it must have %s", want.name,
				typeText(got.ParamTypes(), got.ResultTypes()), typeText(want.params, want.results))
		}
	}
	return nil
}

func typeText(params, results []api.ValueType) string {
	names := func(types []api.ValueType) string {
		var out []string
		for _, t := range types {
			out = append(out, api.ValueTypeName(t))
		}
		return "(" + strings.Join(out, ", ") + ")"
	}
	return names(params) + " -> " + names(results)
}
