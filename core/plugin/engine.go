package plugin

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// engine is one wazero runtime with one compiled module in it: one each, because wazero
// sets limits by runtime. How a guest is bounded in time is decided here and nowhere else.
type engine struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	cache   wazero.CompilationCache // nil: none
}

// features leaves out reference types, with which a guest could grow tables: they lie
// in the host's heap, where no limit reaches them.
const features = api.CoreFeaturesV2 &^ api.CoreFeatureReferenceTypes

// newEngine compiles the module. The error of a module that is not valid, or that makes
// the compiler panic, is for its author.
func newEngine(ctx context.Context, module []byte, cache wazero.CompilationCache) (_ *engine, err error) {
	// Interruption by wazero slows compiled code down several times, but without it a guest
	// could neither be stopped nor be paused for the host's garbage collector.
	// The memory limit is the allocator's, which can tell that it was reached.
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false).WithCoreFeatures(features)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	e := &engine{runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: cache}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the compiler failed on this module: %v", r)
		}
		if err != nil {
			e.close(ctx)
		}
	}()
	if e.module, err = e.runtime.CompileModule(ctx, module); err != nil {
		return nil, fmt.Errorf("this is not a valid WebAssembly module: %w", err)
	}
	return e, nil
}

// instantiate makes an instance whose memory is m. Its start section runs, nothing else.
func (e *engine) instantiate(ctx context.Context, m *memory, out *output) (_ module, err error) {
	defer func() { // wazero panics when there is no memory to be had
		if r := recover(); r != nil {
			err = fmt.Errorf("instantiate: %v", r)
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(out).WithStderr(out)
	return e.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, m), e.module, config)
}

// close frees the code and every instance. Errors have nobody to act on them: what
// wazero closes here is memory.
func (e *engine) close(ctx context.Context) {
	_ = e.runtime.Close(ctx)
	if e.cache != nil {
		_ = e.cache.Close(ctx)
	}
}
