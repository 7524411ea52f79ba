//go:build wasip1

package sdk

import (
	"unsafe"

	"github.com/rowelhq/rowel/sdk/abi"
)

// guest holds what the host was given pointers to, so that the collector keeps it. The
// host calls one export at a time.
var guest struct {
	in  []uint64 // words, because a picture's columns are 8-aligned
	out []byte
}

//go:wasmexport rowel_abi_v1
func exportVersion() int32 { return abi.Minor }

//go:wasmexport rowel_alloc
func exportAlloc(size uint32) unsafe.Pointer {
	words := (int(size) + 7) / 8
	if words > cap(guest.in) {
		guest.in = nil // let the collector have it before asking for more
		guest.in = make([]uint64, max(words+words/4, 1))
	}
	return unsafe.Pointer(unsafe.SliceData(guest.in))
}

//go:wasmexport rowel_describe
func exportDescribe() uint64 { return answer(policy.info.manifest(abi.KindPolicy)) }

//go:wasmexport rowel_configure
func exportConfigure(size uint32) uint64 {
	if size == 0 {
		return answer(nil)
	}
	return answer([]byte(policy.info.Name + " takes no configuration"))
}

//go:wasmexport rowel_policy_cycle
func exportPolicyCycle(size uint32) uint64 {
	if policy.schedule == nil {
		panic("the guest did not call sdk.Policy in an init function")
	}
	src := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(guest.in))), int(size))
	picture, err := abi.OpenPicture(src)
	if err != nil {
		panic("open picture: " + err.Error())
	}
	plan := Run(policy.schedule, picture)
	size = uint32(plan.Size())
	if int(size) > cap(guest.out) {
		guest.out = make([]byte, size+size/4)
	}
	out := guest.out[:size]
	plan.Encode(out)
	return answer(out)
}

// answer tells the host where out is. The caller's bytes are kept until the next answer.
func answer(out []byte) uint64 {
	if len(out) == 0 {
		return 0
	}
	guest.out = out[:len(out):cap(out)]
	return uint64(abi.NewResult(uint32(uintptr(unsafe.Pointer(unsafe.SliceData(out)))), uint32(len(out))))
}
