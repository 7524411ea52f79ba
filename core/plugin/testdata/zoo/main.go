// Zoo is a guest that misbehaves as the picture's seed asks: the tests of core/plugin
// build it. It has exports of its own, because the SDK would not let it do this.
package main

import (
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/rowelhq/rowel/sdk/abi"
)

//go:wasmimport rowel log
func hostLog(level int32, pointer unsafe.Pointer, size uint32)

var (
	in    []uint64
	out   []byte
	hoard [][]byte
	calls int
)

func main() {}

//go:wasmexport rowel_abi_v1
func version() int32 { return abi.Minor }

//go:wasmexport rowel_alloc
func alloc(size uint32) unsafe.Pointer {
	in = make([]uint64, size/8+1)
	return unsafe.Pointer(&in[0])
}

//go:wasmexport rowel_describe
func describe() uint64 {
	return answer([]byte(`{"abi":1,"kind":"policy","name":"zoo","version":"1.0.0"}`))
}

//go:wasmexport rowel_policy_cycle
func cycle(size uint32) uint64 {
	p, err := abi.OpenPicture(unsafe.Slice((*byte)(unsafe.Pointer(&in[0])), size))
	if err != nil {
		panic(err)
	}
	calls++
	if result, is := behave(p); is {
		return result
	}
	plan := &abi.Plan{Cycle: p.Cycle}
	plan.Add(abi.Proposal{Kind: abi.Skip, Reason: abi.BecausePriority, Job: uint32(calls - 1)})
	if p.Seed == 10 {
		plan.Proposals[0].Job = 4_000_000_000
	}
	encoded := make([]byte, plan.Size())
	plan.Encode(encoded)
	return answer(encoded)
}

func behave(p *abi.Picture) (result uint64, is bool) {
	switch p.Seed {
	case 1:
		panic("it \x1b[31mhurts")
	case 2:
		for {
			runtime.KeepAlive(p)
		}
	case 3:
		os.Exit(0)
	case 4:
		for {
			hoard = append(hoard, make([]byte, 16<<20))
		}
	case 5:
		return answer([]byte("this is no plan, however long it is")), true
	case 6:
		line := []byte(strings.Repeat("log\n\x1b[0m", 1000))
		for {
			hostLog(abi.LogInfo, unsafe.Pointer(&line[0]), uint32(len(line)))
		}
	case 7:
		return answer(make([]byte, 30<<20)), true
	case 8:
		return uint64(abi.NewResult(0xfffffff0, 1<<20)), true
	case 9:
		return uint64(abi.NewResult(0, 1<<31)), true
	case 11:
		for range 500 {
			line := []byte("chatter")
			hostLog(abi.LogWarn, unsafe.Pointer(&line[0]), uint32(len(line)))
		}
	case 12:
		return 0, true
	case 13:
		return deep(p, 0), true
	case 14:
		hostLog(abi.LogInfo, unsafe.Pointer(uintptr(0xfffffff0)), 1<<20)
	case 15:
		hoard = append(hoard, make([]byte, 16<<20))
		calls = 1 // of a good plan
	}
	return 0, false
}

func deep(p *abi.Picture, n uint64) uint64 { return deep(p, n+1) + p.Cycle }

func answer(b []byte) uint64 {
	out = b
	return uint64(abi.NewResult(uint32(uintptr(unsafe.Pointer(&out[0]))), uint32(len(out))))
}
