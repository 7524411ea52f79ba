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

// validate returns an error for the author of a module that is not valid. wazero tells
// through an engine only, and of those the interpreter takes a tenth of the time.
func validate(ctx context.Context, module []byte) (err error) {
	e := &engine{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))}
	defer e.close(ctx)
	return e.compile(ctx, module)
}

// newEngine compiles the module. The error of a module that is not valid, or that makes
// the compiler panic, is for its author.
func newEngine(ctx context.Context, module []byte, cache wazero.CompilationCache) (*engine, error) {
	// Guests come back to the host by themselves, because package meter made them so:
	// interruption by wazero slows compiled code down several times.
	// The memory limit is the allocator's, which can tell that it was reached.
	config := wazero.NewRuntimeConfig().WithDebugInfoEnabled(false).WithCoreFeatures(features)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	e := &engine{runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: cache}
	if err := e.compile(ctx, module); err != nil {
		e.close(ctx)
		return nil, err
	}
	return e, nil
}

func (e *engine) compile(ctx context.Context, module []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the compiler failed on this module: %v", r)
		}
	}()
	if e.module, err = e.runtime.CompileModule(ctx, module); err != nil {
		return fmt.Errorf("this is not a valid WebAssembly module: %w", err)
	}
	return nil
}

// instantiate makes an instance whose memory is m. Its start section runs, nothing else.
func (e *engine) instantiate(ctx context.Context, m *memory, out *output) (_ module, err error) {
	defer func() { // wazero panics when there is no memory to be had
		if r := recover(); r != nil {
			err = fmt.Errorf("instantiate: %v", r)
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(printer{out}).WithStderr(printer{out}).
		WithRandSource(newRandom(out.tank))
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
