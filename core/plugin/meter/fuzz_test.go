package meter

import (
	"math/rand/v2"
	"testing"
)

// author writes a valid module as a stream of bytes says: nested loops and branches, calls
// direct, through the table and of the host, bulk instructions and globals.
type author struct {
	choices []byte
	out     []byte
	blocks  int // that are open, the function's own not counted
	size    int
}

// next returns a choice below n; when there are no more it is 0, which ends things.
func (a *author) next(n byte) byte {
	if len(a.choices) == 0 {
		return 0
	}
	c := a.choices[0]
	a.choices = a.choices[1:]
	return c % n
}

func (a *author) emit(code ...byte) { a.out = append(a.out, code...) }

// value leaves an i32.
func (a *author) value() {
	switch a.next(4) {
	case 0:
		a.emit(opI32Const)
		a.out = appendI64(a.out, int64(a.next(255))<<a.next(16))
	case 1:
		a.emit(opGlobalGet, 0)
	default:
		a.emit(opLocalGet, a.next(4))
	}
}

func (a *author) statements() {
	for range 1 + a.next(6) {
		if a.size++; a.size > 200 {
			return
		}
		a.statement()
	}
}

func (a *author) statement() {
	kind := a.next(14)
	if a.blocks == 0 && (kind == 5 || kind == 6) {
		kind = 1 // there is nothing yet to branch out of
	}
	switch kind {
	case 1, 2:
		a.nest(opLoop)
	case 3:
		a.nest(opBlock)
	case 4:
		a.value()
		a.emit(opIf, blockEmpty)
		a.inside()
		a.emit(opElse)
		a.inside()
		a.emit(opEnd)
	case 5:
		a.value()
		a.emit(opBrIf, a.next(byte(a.blocks)))
	case 6:
		a.value()
		a.emit(opBrTable, 2, a.next(byte(a.blocks)), a.next(byte(a.blocks)), a.next(byte(a.blocks)))
	case 7, 8:
		a.value()
		a.emit(opCall, a.next(4), opLocalSet, a.next(4))
	case 9:
		a.value()
		a.emit(opI32Const, a.next(6), opCallIndirect, 0, 0, opGlobalSet, 0)
	case 10:
		a.bulk(bulkMemoryFill, 0)
	case 11:
		a.bulk(bulkMemoryCopy, 0, 0)
	case 12:
		a.bulk(bulkMemoryInit, 0, 0)
	case 13:
		a.bulk(bulkTableCopy, 0, 0)
	default:
		a.value()
		a.value()
		a.emit(opI32Add, opLocalTee, a.next(4), opGlobalSet, 0)
	}
}

func (a *author) nest(op byte) {
	a.emit(op, blockEmpty)
	a.inside()
	a.emit(opEnd)
}

func (a *author) inside() {
	a.blocks++
	a.statements()
	a.blocks--
}

func (a *author) bulk(instruction ...byte) {
	for range 3 {
		a.value()
	}
	a.emit(append([]byte{opBulk}, instruction...)...)
}

// write returns a module of three functions, the host's first.
func write(choices []byte) []byte {
	a := &author{choices: choices}
	var bodies [][]byte
	for range 3 {
		a.out, a.size = nil, 0
		a.statements()
		a.value()
		bodies = append(bodies, body(3, a.out...))
	}
	return assemble(
		section(sectionType, functionType("\x7f", "\x7f")),
		section(sectionImport, importFunction("host", "next", 0)),
		section(sectionFunction, []byte{0}, []byte{0}, []byte{0}),
		section(sectionTable, []byte{0x70, 0, 6}),
		section(sectionMemory, []byte{0, 40}),
		section(sectionGlobal, []byte{i32, 1, opI32Const, 5, opEnd}),
		section(sectionExport, export("a", 0, 1), export("b", 0, 2), export("c", 0, 3)),
		section(sectionElement, []byte{0, opI32Const, 0, opEnd, 5, 3, 2, 1, 0, 0}),
		[]byte{sectionDataCount, 1, 1},
		section(sectionCode, bodies...),
		section(sectionData, append([]byte{1}, appendVector(nil, []byte("some data to be copied"))...)),
	)
}

func TestGeneratedModulesAgree(t *testing.T) {
	ran := 0
	for seed := range uint64(100) {
		source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
		choices := make([]byte, 400)
		_, _ = source.Read(choices)
		module := write(choices)
		if err := valid(t.Context(), module); err != nil {
			t.Fatalf("seed %d: the module is not valid: %v", seed, err)
		}
		if _, err := Instrument(module); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if agree(t, module) {
			ran++
		}
	}
	if ran != 100 {
		t.Errorf("%d of 100 modules ran", ran)
	}
}

func FuzzGeneratedModulesAgree(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x05\x01\x05\x02\x07\x01\x0a\x00\xff\x0f\x01\x0b\x05\x09\x02\x0d\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, choices []byte) { agree(t, write(choices[:min(len(choices), 1000)])) })
}

// FuzzInstrument looks for bytes on which the rewriter panics, or of which it makes
// something that wazero refuses although it accepts the original.
func FuzzInstrument(f *testing.F) {
	f.Add(countdown)
	f.Add(write([]byte("\x05\x01\x05\x02\x07\x01\x0a\x00\xff\x0f\x01\x0b\x05\x09\x02\x0d\x00\x01\x02")))
	f.Add(viaTable([]byte{1, 0, 1, 2}, []byte{5, 0x70, 1, opRefNull, 0x70, opEnd}, []byte{6, 0, opI32Const, 3, opEnd, 0x70, 1, opRefFunc, 0, opEnd}))
	f.Add(assemble(section(sectionGlobal, []byte{0x7b, 0, opSIMD, 12, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, opEnd})))
	f.Add(function("", "", 0, opSIMD, 12, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, opSIMD, 21, 3, opDrop))
	f.Fuzz(func(t *testing.T, module []byte) {
		metered, err := Instrument(module)
		if err != nil || len(module) > 10_000 {
			return
		}
		if valid(t.Context(), module) == nil {
			if err := valid(t.Context(), metered); err != nil {
				t.Fatalf("wazero accepts the original and not what was made of it: %v", err)
			}
		}
	})
}
