package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/rowelhq/rowel/core/plugin/meter"
	"github.com/rowelhq/rowel/sdk/abi"
)

// offer puts the host's functions into the engine. All of WASI is there, but inspect has
// refused every module that imports more of it than wasiFunctions.
func (e *engine) offer(ctx context.Context, out *output) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, e.runtime); err != nil {
		return fmt.Errorf("offer WASI: %w", err)
	}
	log := api.GoModuleFunc(func(_ context.Context, guest api.Module, stack []uint64) {
		level, pointer, size := api.DecodeI32(stack[0]), uint32(stack[1]), uint32(stack[2])
		line, ok := guest.Memory().Read(pointer, min(size, maxLogLine))
		if !ok {
			line = []byte("(a line outside its memory)")
		}
		out.logLine(level, line)
	})
	_, err := e.runtime.NewHostModuleBuilder(abi.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(log, []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32}, nil).
		Export(abi.ImportLog).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("offer %s.%s: %w", abi.ImportModule, abi.ImportLog, err)
	}
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err = e.runtime.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(out.tank.tick), i64, i64).Export(meter.ImportTick).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("offer %s.%s: %w", meter.ImportModule, meter.ImportTick, err)
	}
	return nil
}

// random is where guests get their random numbers: the same in every instance.
type random struct {
	source *rand.ChaCha8
	tank   *tank
}

func newRandom(t *tank) *random { return &random{source: rand.NewChaCha8([32]byte{}), tank: t} }

// Read implements io.Reader. A guest may ask for all of its memory at once.
func (r *random) Read(p []byte) (int, error) {
	r.tank.check()
	return r.source.Read(p[:min(len(p), 1<<20)])
}
