package abi

import (
	"encoding/binary"
	"unsafe"
)

// The element types of a column.
const (
	typeU8  = 1
	typeU32 = 3
	typeU64 = 4
	typeI64 = 5
)

// column ties a column's place in a picture to the slice that holds it.
type column struct {
	id    uint16
	kind  uint8
	width int
	rows  int // demanded by the header; -1: any
	seen  bool

	len   func() int
	write func(dst []byte)
	read  func(src []byte, count int)
}

func (c *column) bytes() int { return c.len() * c.width }

func u8Column(id uint16, rows int, at *[]byte) column    { return newColumn(id, typeU8, rows, at) }
func u32Column(id uint16, rows int, at *[]uint32) column { return newColumn(id, typeU32, rows, at) }
func u64Column(id uint16, rows int, at *[]uint64) column { return newColumn(id, typeU64, rows, at) }
func i64Column(id uint16, rows int, at *[]int64) column  { return newColumn(id, typeI64, rows, at) }

// littleEndian is how guest memory and nearly every host keep numbers.
var littleEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}()

func newColumn[T uint8 | uint32 | uint64 | int64](id uint16, kind uint8, rows int, at *[]T) column {
	width := int(unsafe.Sizeof(T(0)))
	return column{
		id: id, kind: kind, width: width, rows: rows,
		len: func() int { return len(*at) },
		write: func(dst []byte) {
			if littleEndian {
				copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(*at))), len(*at)*width))
				return
			}
			for i, v := range *at {
				putWide(dst[i*width:], width, uint64(v))
			}
		},
		read: func(src []byte, count int) {
			start := unsafe.Pointer(unsafe.SliceData(src))
			if count > 0 && littleEndian && uintptr(start)%uintptr(width) == 0 {
				*at = unsafe.Slice((*T)(start), count)
				return
			}
			own := make([]T, count)
			for i := range own {
				own[i] = T(getWide(src[i*width:], width))
			}
			*at = own
		},
	}
}

func putWide(dst []byte, width int, v uint64) {
	switch width {
	case 1:
		dst[0] = byte(v)
	case 4:
		binary.LittleEndian.PutUint32(dst, uint32(v))
	default:
		binary.LittleEndian.PutUint64(dst, v)
	}
}

func getWide(src []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(src[0])
	case 4:
		return uint64(binary.LittleEndian.Uint32(src))
	default:
		return binary.LittleEndian.Uint64(src)
	}
}
