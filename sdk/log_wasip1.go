//go:build wasip1

package sdk

import (
	"runtime"
	"unsafe"
)

//go:wasmimport rowel log
func hostLog(level int32, pointer unsafe.Pointer, size uint32)

func log(level int32, line string) {
	hostLog(level, unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
	runtime.KeepAlive(line)
}
