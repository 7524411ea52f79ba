package meter

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// assemble makes a module of sections, each a number and its items.
func assemble(sections ...[]byte) []byte {
	return join(append([][]byte{[]byte(header)}, sections...)...)
}

func section(id byte, items ...[]byte) []byte {
	return appendVector([]byte{id}, append(appendU32(nil, uint32(len(items))), join(items...)...))
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func functionType(params, results string) []byte {
	return join([]byte{0x60}, appendVector(nil, []byte(params)), appendVector(nil, []byte(results)))
}

// body is a function's, with so many i32 locals.
func body(locals uint32, code ...byte) []byte {
	return appendVector(nil, join([]byte{1}, appendU32(nil, locals), []byte{i32}, code, []byte{opEnd}))
}

func export(name string, kind, index byte) []byte {
	return append(appendVector(nil, []byte(name)), kind, index)
}

func importFunction(from, name string, typ byte) []byte {
	return append(appendVector(appendVector(nil, []byte(from)), []byte(name)), 0, typ)
}

// function is a module of one function "f" from i32s to i32s, with memory.
func function(params, results string, locals uint32, code ...byte) []byte {
	return assemble(
		section(sectionType, functionType(params, results)),
		section(sectionFunction, []byte{0}),
		section(sectionMemory, []byte{0, 64}),
		section(sectionExport, export("f", 0, 0), export("memory", 2, 0)),
		section(sectionCode, body(locals, code...)),
	)
}

var errFuel = errors.New("out of fuel")

// guest runs a module and counts as a host does.
type guest struct {
	runtime wazero.Runtime
	module  api.Module

	grant, limit     int64
	granted, used    int64
	ticks, hostCalls int
}

var allFeatures = api.CoreFeaturesV2

func valid(ctx context.Context, module []byte) (err error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(allFeatures))
	defer func() { _ = r.Close(ctx) }()
	_, err = r.CompileModule(ctx, module)
	return err
}

// start instantiates a module in the interpreter, which takes the least time to compile.
func start(ctx context.Context, module []byte, limit, grant int64) (*guest, error) {
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(allFeatures).WithMemoryLimitPages(4096)
	g := &guest{runtime: wazero.NewRuntimeWithConfig(ctx, config), limit: limit, grant: grant}
	i64s := []api.ValueType{api.ValueTypeI64}
	_, err := g.runtime.NewHostModuleBuilder(ImportModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(g.tick), i64s, i64s).Export(ImportTick).Instantiate(ctx)
	if err == nil {
		_, err = g.runtime.NewHostModuleBuilder("host").NewFunctionBuilder().
			WithFunc(func(n uint32) uint32 { g.hostCalls++; return n + 1 }).Export("next").Instantiate(ctx)
	}
	if err == nil {
		g.module, err = g.runtime.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStartFunctions())
	}
	if err != nil {
		_ = g.runtime.Close(ctx)
		return nil, err
	}
	return g, nil
}

func (g *guest) tick(_ context.Context, stack []uint64) {
	g.ticks++
	left := int64(stack[0])
	g.used += g.granted - left
	g.granted = left
	if g.used > g.limit {
		panic(errFuel)
	}
	g.granted = g.grant
	stack[0] = uint64(g.granted)
}

// fuel returns what was used so far.
func (g *guest) fuel() int64 {
	internal := g.module.(experimental.InternalModule)
	return g.used + g.granted - int64(internal.Global(internal.NumGlobal()-1).Get())
}

func (g *guest) call(ctx context.Context, name string, params ...uint64) ([]uint64, error) {
	return g.module.ExportedFunction(name).Call(ctx, params...)
}

func mustStart(t testing.TB, module []byte, limit, grant int64) *guest {
	t.Helper()
	g, err := start(t.Context(), module, limit, grant)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.runtime.Close(context.Background()) })
	return g
}

func mustInstrument(t testing.TB, module []byte) []byte {
	t.Helper()
	if err := valid(t.Context(), module); err != nil {
		t.Fatalf("the test's own module: %v", err)
	}
	out, err := Instrument(module)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
