package plugin

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/rowelhq/rowel/sdk/abi"
)

// MaxAnswer is the largest answer that is taken from a guest, in bytes.
const MaxAnswer = 32 << 20

type module = api.Module

// instance is one running guest. It serves one call at a time, and none after an error:
// what a guest leaves behind when it dies is not to be trusted, and its memory may be gone.
type instance struct {
	module module
	memory *memory

	alloc, describe, cycle api.Function
}

// start makes an instance and runs its initialisation. The instance is returned with an
// error too, for its memory to be freed.
func (e *engine) start(ctx context.Context, limits Limits, out *output) (*instance, error) {
	i := &instance{memory: newMemory(limits.Memory)}
	var err error
	if i.module, err = e.instantiate(ctx, i.memory, out); err != nil {
		return i, err
	}
	internal := i.module.(experimental.InternalModule)
	out.tank.counter = internal.Global(internal.NumGlobal() - 1) // meter puts it last
	if initialize := i.module.ExportedFunction(abi.ExportInitialize); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			return i, err
		}
	}
	minor, err := i.module.ExportedFunction(abi.ExportVersion).Call(ctx)
	if err != nil {
		return i, err
	}
	if got := api.DecodeI32(minor[0]); got < 0 || got > abi.Minor {
		return i, fmt.Errorf("it is built for ABI %d.%d, this controller speaks up to %d.%d", abi.Major, got, abi.Major, abi.Minor)
	}
	i.alloc = i.module.ExportedFunction(abi.ExportAlloc)
	i.describe = i.module.ExportedFunction(abi.ExportDescribe)
	i.cycle = i.module.ExportedFunction(abi.ExportPolicyCycle)
	return i, nil
}

// close frees the instance. Its memory must not be looked at afterwards.
func (i *instance) close(ctx context.Context) {
	if i.module != nil {
		_ = i.module.Close(ctx) // there is nothing in it that could fail to close
	}
	i.memory.Free()
}

// plan runs one cycle. The picture is written straight into the guest's memory.
func (i *instance) plan(ctx context.Context, picture *abi.Picture) (*abi.Plan, error) {
	size := picture.Size()
	if err := i.write(ctx, size, picture.Encode); err != nil {
		return nil, err
	}
	answer, err := i.ask(ctx, i.cycle, MaxAnswer, uint64(size))
	if err != nil {
		return nil, err
	}
	plan, err := abi.DecodePlan(answer, picture.Cycle, picture.Nodes.Len(), picture.Jobs.Len())
	if err != nil {
		return nil, &Fault{FaultMalformed, err}
	}
	return plan, nil
}

// write asks the guest for a buffer and fills it.
func (i *instance) write(ctx context.Context, size int, fill func(dst []byte)) error {
	if int64(size) >= maxMemory {
		return &Fault{FaultMemory, fmt.Errorf("a picture of %d bytes fits into no guest", size)}
	}
	results, err := i.alloc.Call(ctx, uint64(size))
	if err != nil {
		return err
	}
	pointer := uint32(results[0])
	dst, ok := i.module.Memory().Read(pointer, uint32(size))
	if !ok || pointer%8 != 0 {
		return &Fault{FaultMalformed, fmt.Errorf("%s gave a buffer of %d bytes at %#x, which is outside its memory or not 8-aligned",
			abi.ExportAlloc, size, pointer)}
	}
	fill(dst)
	return nil
}

// ask calls a function that answers with a Result. The answer lies in guest memory: it
// is gone after the next call.
func (i *instance) ask(ctx context.Context, f api.Function, most uint32, params ...uint64) ([]byte, error) {
	results, err := f.Call(ctx, params...)
	if err != nil {
		return nil, err
	}
	result := abi.Result(results[0])
	if result.Size() > most {
		return nil, &Fault{FaultOutput, fmt.Errorf("%s answers with %d bytes, the most is %d", f.Definition().ExportNames()[0], result.Size(), most)}
	}
	answer, ok := i.module.Memory().Read(result.Pointer(), result.Size())
	if !ok {
		return nil, &Fault{FaultMalformed, fmt.Errorf("%s answers with %d bytes at %#x, outside its memory",
			f.Definition().ExportNames()[0], result.Size(), result.Pointer())}
	}
	return answer, nil
}
