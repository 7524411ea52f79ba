// A policy that proposes what cannot be: every job twice, on a node that is full. The
// SDK would not let it, so it speaks the ABI itself.
package main

import (
	"unsafe"

	"github.com/rowelhq/rowel/sdk/abi"
)

func main() {}

var (
	input  []uint64 // 8-aligned
	output []byte
)

//go:wasmexport rowel_abi_v1
func version() uint32 { return abi.Minor }

//go:wasmexport rowel_alloc
func alloc(size uint32) uint32 {
	if need := int(size+7) / 8; need > len(input) {
		input = make([]uint64, need)
	}
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

//go:wasmexport rowel_describe
func describe() uint64 {
	return answer([]byte(`{"abi":1,"kind":"policy","name":"lie","version":"1.0.0"}`))
}

//go:wasmexport rowel_configure
func configure(uint32) uint64 { return answer(nil) }

//go:wasmexport rowel_policy_cycle
func cycle(size uint32) uint64 {
	picture, err := abi.OpenPicture(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(input))), size))
	if err != nil {
		panic(err)
	}
	plan := abi.Plan{Cycle: picture.Cycle}
	for job := range picture.Jobs.Len() {
		for range 99 {
			plan.Add(abi.Proposal{Kind: abi.Start, Job: uint32(job)}, 0)
		}
	}
	encoded := make([]byte, plan.Size())
	plan.Encode(encoded)
	return answer(encoded)
}

func answer(data []byte) uint64 {
	output = data
	if len(data) == 0 {
		return 0
	}
	return uint64(abi.NewResult(uint32(uintptr(unsafe.Pointer(unsafe.SliceData(output)))), uint32(len(output))))
}
