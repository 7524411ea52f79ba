package meter

import "fmt"

// Value types and the type of a block without any.
const (
	i32        = 0x7f
	i64        = 0x7e
	blockEmpty = 0x40
)

// Opcodes that the rewriter reads or writes by name.
const (
	opUnreachable   = 0x00
	opNop           = 0x01
	opBlock         = 0x02
	opLoop          = 0x03
	opIf            = 0x04
	opElse          = 0x05
	opEnd           = 0x0b
	opBr            = 0x0c
	opBrIf          = 0x0d
	opBrTable       = 0x0e
	opReturn        = 0x0f
	opCall          = 0x10
	opCallIndirect  = 0x11
	opDrop          = 0x1a
	opSelect        = 0x1b
	opLocalGet      = 0x20
	opLocalSet      = 0x21
	opLocalTee      = 0x22
	opGlobalGet     = 0x23
	opGlobalSet     = 0x24
	opI32Load       = 0x28 // the first of the loads and stores
	opI64Store32    = 0x3e // the last
	opMemorySize    = 0x3f
	opMemoryGrow    = 0x40
	opI32Const      = 0x41
	opI64Const      = 0x42
	opF32Const      = 0x43
	opF64Const      = 0x44
	opI32Eqz        = 0x45 // the first of those without immediates
	opI32GtU        = 0x4b
	opI32LeU        = 0x4d
	opI64LtS        = 0x53
	opI64GtU        = 0x56
	opI32Add        = 0x6a
	opI32Sub        = 0x6b
	opI64Add        = 0x7c
	opI64Sub        = 0x7d
	opI64Shl        = 0x86
	opI64ShrU       = 0x88
	opI64ExtendI32U = 0xad
	opI64Extend32S  = 0xc4 // the last
	opRefNull       = 0xd0
	opRefFunc       = 0xd2
	opBulk          = 0xfc
	opSIMD          = 0xfd
)

// Those behind opBulk: saturating conversions come before.
const (
	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
)

// Those behind opSIMD that have immediates or bound a range that has.
const (
	simdLastMemory   = 11
	simdConst        = 12
	simdShuffle      = 13
	simdFirstLane    = 21
	simdLastLane     = 34
	simdFirstOneLane = 84 // loads and stores of one lane
	simdLastOneLane  = 91
	simdLoad32Zero   = 92
	simdLoad64Zero   = 93
	simdLast         = 255
)

// strangers are opcodes that an author may have meant; others go by number alone.
var strangers = map[byte]string{
	0x06: "try", 0x07: "catch", 0x08: "throw", 0x09: "rethrow", 0x0a: "throw_ref", 0x12: "return_call", 0x13: "return_call_indirect",
	0x14: "call_ref", 0x15: "return_call_ref", 0x18: "delegate", 0x19: "catch_all", 0x1c: "select with a type", 0x1f: "try_table",
	0x25: "table.get", 0x26: "table.set", 0xd1: "ref.is_null", 0xfb: "a garbage collection instruction", 0xfe: "an atomic instruction",
}

func refuse(op byte, sub uint32) error {
	switch {
	case op == opBulk || op == opSIMD:
		return fmt.Errorf("the module has opcode %#02x %d, which a plugin may not use", op, sub)
	case strangers[op] != "":
		return fmt.Errorf("the module has opcode %#02x (%s), which a plugin may not use", op, strangers[op])
	}
	return fmt.Errorf("the module has opcode %#02x, which a plugin may not use", op)
}

// skipImmediates reads over what stands behind an opcode that is copied as it is.
func skipImmediates(r *reader, op byte) error {
	switch {
	case op == opUnreachable || op == opNop || op == opElse || op == opEnd || op == opReturn || op == opDrop || op == opSelect:
	case op == opBlock || op == opLoop || op == opIf:
		r.skipLEB(5) // a value type, or the number of a type
	case op == opBr || op == opBrIf || op >= opLocalGet && op <= opLocalTee:
		r.u32()
	case op == opBrTable:
		for n := uint64(r.u32()) + 1; n > 0 && !r.short; n-- {
			r.u32()
		}
	case op == opCallIndirect:
		r.u32()
		r.u32()
	case op >= opI32Load && op <= opI64Store32:
		r.u32()
		r.u32()
	case op == opMemorySize || op == opMemoryGrow:
		r.byte()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op >= opI32Eqz && op <= opI64Extend32S:
	case op == opRefNull:
		r.byte()
	case op == opSIMD:
		return skipSIMD(r)
	default:
		return refuse(op, 0)
	}
	return nil
}

func skipSIMD(r *reader) error {
	switch sub := r.u32(); {
	case sub > simdLast:
		return refuse(opSIMD, sub)
	case sub <= simdLastMemory || sub == simdLoad32Zero || sub == simdLoad64Zero:
		r.u32()
		r.u32()
	case sub == simdConst || sub == simdShuffle:
		r.take(16)
	case sub >= simdFirstLane && sub <= simdLastLane:
		r.byte()
	case sub >= simdFirstOneLane && sub <= simdLastOneLane:
		r.u32()
		r.u32()
		r.byte()
	}
	return nil
}
