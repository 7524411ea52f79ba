package meter

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// countdown is a loop of the parameter's length: f(n) returns n, counted one by one.
var countdown = function(string(rune(i32)), string(rune(i32)), 1,
	opLoop, blockEmpty,
	opLocalGet, 1, opI32Const, 1, opI32Add, opLocalSet, 1,
	opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalTee, 0,
	opBrIf, 0, opEnd,
	opLocalGet, 1)

func TestFuelIsCountedByLoopAndIsTheSameEachTime(t *testing.T) {
	module := mustInstrument(t, countdown)
	var used []int64
	for _, grant := range []int64{1, 7, 100_000, 100_000} { // the grants do not matter
		g := mustStart(t, module, 1e9, grant)
		for range 2 {
			before := g.fuel()
			if got, err := g.call(t.Context(), "f", 1000); err != nil || got[0] != 1000 {
				t.Fatal(got, err)
			}
			used = append(used, g.fuel()-before)
		}
	}
	if want := slices.Repeat([]int64{1000}, len(used)); !slices.Equal(used, want) {
		t.Errorf("fuel %v, want %v", used, want)
	}
}

func TestLongCodeCostsMore(t *testing.T) {
	long := bytes.Repeat([]byte{opNop}, 10*InstructionsPerUnit)
	for name, test := range map[string]struct {
		code []byte
		want int64
	}{
		"short":                    {[]byte{opNop}, 1},
		"long":                     {long, 11},
		"long behind a block":      {join([]byte{opBlock, blockEmpty, opEnd}, long), 11},
		"long behind a loop":       {join([]byte{opLoop, blockEmpty, opEnd}, long), 11},
		"a loop in a long one":     {join([]byte{opBlock, blockEmpty, opLoop, blockEmpty, opLoop, blockEmpty, opEnd}, long, []byte{opEnd, opEnd}), 1 + 11 + 1},
		"both branches, one taken": {join([]byte{opI32Const, 1, opIf, blockEmpty}, long, []byte{opElse}, long, []byte{opEnd}), 21},
		"growing memory":           {[]byte{opI32Const, 0, opMemoryGrow, 0, opDrop}, 65},
	} {
		t.Run(name, func(t *testing.T) {
			g := mustStart(t, mustInstrument(t, function("", "", 0, test.code...)), 1e9, 1000)
			if _, err := g.call(t.Context(), "f"); err != nil {
				t.Fatal(err)
			}
			if got := g.fuel(); got != test.want {
				t.Errorf("it costs %d units, want %d", got, test.want)
			}
		})
	}
}

func TestWhatHasNoEndRunsOutOfFuel(t *testing.T) {
	fill := func(size int64) []byte {
		return append(appendI64([]byte{opI32Const, 0, opI32Const, 7, opI32Const}, size), opBulk, bulkMemoryFill, 0)
	}
	for name, code := range map[string][]byte{
		"loop":                    {opLoop, blockEmpty, opBr, 0, opEnd},
		"loop in a loop":          {opLoop, blockEmpty, opLoop, blockEmpty, opBr, 1, opEnd, opEnd},
		"br_table":                {opLoop, blockEmpty, opI32Const, 5, opBrTable, 1, 0, 0, opEnd},
		"recursion":               {opCall, 0},
		"recursion before a loop": {opCall, 0, opLoop, blockEmpty, opEnd},
		"filling memory":          join([]byte{opLoop, blockEmpty}, fill(4<<20), []byte{opBr, 0, opEnd}),
	} {
		t.Run(name, func(t *testing.T) {
			g := mustStart(t, mustInstrument(t, function("", "", 0, code...)), 1900, 100)
			if _, err := g.call(t.Context(), "f"); !errors.Is(err, errFuel) {
				t.Fatalf("got %v", err)
			}
			if used := g.fuel(); used != g.used || used < 1900 || used > 1900+piece>>sizeShift+1 {
				t.Errorf("fuel %d, known to the host %d, the limit is 1900", used, g.used)
			}
		})
	}
}

func TestStartFunctionPays(t *testing.T) {
	module := mustInstrument(t, assemble(
		section(sectionType, functionType("", "")), section(sectionFunction, []byte{0}), []byte{sectionStart, 1, 0},
		section(sectionCode, body(0, opLoop, blockEmpty, opBr, 0, opEnd)),
	))
	if _, err := start(t.Context(), module, 1000, 100); !errors.Is(err, errFuel) {
		t.Errorf("got %v", err)
	}
}

func TestSizeIsPaidFor(t *testing.T) {
	code := []byte{opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opBulk, bulkMemoryFill, 0}
	g := mustStart(t, mustInstrument(t, function("\x7f\x7f\x7f", "", 0, code...)), 1e9, 1000)
	for _, size := range []uint64{0, 1000, piece, piece + 1, 3*piece + 300} {
		before := g.fuel()
		if _, err := g.call(t.Context(), "f", 0, 1, size); err != nil {
			t.Fatal(err)
		}
		least := int64(size >> sizeShift)
		if got := g.fuel() - before; got < least || got > least+10 {
			t.Errorf("filling %d bytes costs %d units", size, got)
		}
	}
}

// viaTable calls the host's function 0 directly and through a table, in which each form of
// element segment puts it, and exports it.
func viaTable(elements ...[]byte) []byte {
	return assemble(
		section(sectionType, functionType("\x7f", "\x7f")),
		section(sectionImport, importFunction("host", "next", 0)),
		section(sectionFunction, []byte{0}, []byte{0}),
		section(sectionTable, []byte{0x70, 0, 10}),
		section(sectionGlobal, []byte{0x70, 0, opRefFunc, 2, opEnd}),
		section(sectionExport, export("f", 0, 1), export("same", 0, 0), export("own", 3, 0)),
		section(sectionElement, elements...),
		section(sectionCode,
			body(0, opLocalGet, 0, opCall, 0, opI32Const, 3, opCallIndirect, 0, 0, opI32Const, 4, opCallIndirect, 0, 0),
			body(0, opLocalGet, 0, opI32Const, 10, opI32Add)),
	)
}

func TestHostCallsArePaidForHoweverTheyAreReached(t *testing.T) {
	// Slots 3 and 4: the host's function and the module's own last one.
	for name, element := range map[string][]byte{
		"form 0": {0, opI32Const, 3, opEnd, 2, 0, 2},
		"form 2": {2, 0, opI32Const, 3, opEnd, 0, 2, 0, 2},
		"form 4": {4, opI32Const, 3, opEnd, 2, opRefFunc, 0, opEnd, opRefFunc, 2, opEnd},
		"form 6": {6, 0, opI32Const, 3, opEnd, 0x70, 2, opRefFunc, 0, opEnd, opRefFunc, 2, opEnd},
	} {
		t.Run(name, func(t *testing.T) {
			module := viaTable([]byte{1, 0, 1, 2}, []byte{3, 0, 1, 2}, []byte{5, 0x70, 1, opRefNull, 0x70, opEnd}, []byte{7, 0x70, 1, opRefFunc, 2, opEnd}, element)
			g := mustStart(t, mustInstrument(t, module), 1e9, 1e6)
			if got, err := g.call(t.Context(), "f", 1); err != nil || got[0] != 13 {
				t.Fatal(got, err)
			}
			if got := g.fuel(); g.hostCalls != 2 || got != 2*HostCallUnits+2 || g.ticks < 2 {
				t.Errorf("%d host calls cost %d units, the host was asked %d times", g.hostCalls, got, g.ticks)
			}
			if _, err := g.call(t.Context(), "same", 1); err != nil || g.fuel() != 3*HostCallUnits+2 {
				t.Errorf("a host function that is exported costs no fuel (%v)", err)
			}
		})
	}
}

func TestBulkCopiesPiecemealAsInOneGo(t *testing.T) {
	code := []byte{opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opBulk, bulkMemoryCopy, 0, 0}
	original := function("\x7f\x7f\x7f", "", 0, code...)
	plain, metered := mustStart(t, original, 0, 0), mustStart(t, mustInstrument(t, original), 1e9, 100)
	const end = 64 << 16
	for _, c := range [][3]uint64{
		{0, 5, 3*piece + 9},
		{5, 0, 3*piece + 9},
		{piece, 0, 2 * piece},
		{0, piece, 2 * piece},
		{7, 7, 2*piece + 1},
		{0, 1, piece},
		{1, 0, piece + 1},
		{end - 2*piece, 0, 2 * piece},
		{end - 2*piece, 0, 2*piece + 1},
		{0, end - piece, piece + 1},
		{0, 0, 1<<32 - 1},
		{1<<32 - 1, 0, 1<<32 - 1},
		{end + 1, 0, 0},
	} {
		var after [2][]byte
		var failed [2]bool
		for i, g := range []*guest{plain, metered} {
			memory, _ := g.module.Memory().Read(0, end)
			for at := range memory {
				memory[at] = byte(at ^ at>>8 ^ at>>16)
			}
			_, err := g.call(t.Context(), "f", c[:]...)
			failed[i], after[i] = err != nil, memory
		}
		if failed[0] != failed[1] || !bytes.Equal(after[0], after[1]) {
			t.Errorf("copy %v: traps %v, memory is the same: %v", c, failed, bytes.Equal(after[0], after[1]))
		}
	}
}

func TestBulkFillsPiecemealAsInOneGo(t *testing.T) {
	code := []byte{opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opBulk, bulkMemoryFill, 0}
	g := mustStart(t, mustInstrument(t, function("\x7f\x7f\x7f", "", 0, code...)), 1e9, 100)
	if _, err := g.call(t.Context(), "f", 3, 0x107, 3*piece+5); err != nil {
		t.Fatal(err)
	}
	memory, _ := g.module.Memory().Read(0, 4<<20)
	want := join(make([]byte, 3), bytes.Repeat([]byte{7}, 3*piece+5), make([]byte, 4<<20-3*piece-8))
	if !bytes.Equal(memory, want) {
		t.Error("the memory is not what was to be filled")
	}
	if _, err := g.call(t.Context(), "f", 5, 9, 4<<20); err == nil || !bytes.Equal(memory, want) {
		t.Errorf("what reaches outside memory does not trap before it writes (%v)", err)
	}
}

func TestModuleThatReachesForTheCounterIsRefused(t *testing.T) {
	withGlobal := func(code ...byte) []byte {
		return assemble(
			section(sectionType, functionType("", "")),
			section(sectionImport, importFunction("host", "next", 0)),
			section(sectionFunction, []byte{0}),
			section(sectionGlobal, []byte{i64, 1, opI64Const, 0, opEnd}),
			section(sectionCode, body(0, code...)),
		)
	}
	refill := []byte{opI64Const, 0x3f, opGlobalSet, 1} // the counter would be global 1
	for name, test := range map[string]struct {
		module []byte
		want   string
	}{
		"writes it":               {withGlobal(refill...), "mentions global 1, it has 1"},
		"reads it":                {withGlobal(opGlobalGet, 1, opDrop), "mentions global 1, it has 1"},
		"writes it as dead code":  {withGlobal(join([]byte{opUnreachable}, refill)...), "mentions global 1, it has 1"},
		"exports it":              {assemble(section(sectionExport, export("fuel", 3, 0))), "mentions global 0, it has 0"},
		"begins a global with it": {assemble(section(sectionGlobal, []byte{i64, 0, opGlobalGet, 1, opEnd})), "mentions global 1, it has 1"},
		"calls tick":              {withGlobal(opI64Const, 0, opCall, 2, opDrop), "mentions function 2, it has 2"},
		"calls a helper":          {withGlobal(opCall, 3), "mentions function 3, it has 2"},
		"exports tick":            {assemble(section(sectionExport, export("tick", 0, 0))), "mentions function 0, it has 0"},
		"puts it in a table":      {assemble(section(sectionElement, []byte{0, opI32Const, 0, opEnd, 1, 0})), "mentions function 0, it has 0"},
		"starts with it":          {assemble([]byte{sectionStart, 1, 0}), "mentions function 0, it has 0"},
		"imports the meter":       {assemble(section(sectionType, functionType("", "")), section(sectionImport, importFunction(ImportModule, "x", 0))), "imports from rowel_meter"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Instrument(test.module); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestWhatTheRewriterDoesNotKnowIsRefusedByName(t *testing.T) {
	for name, test := range map[string]struct {
		code []byte
		want string
	}{
		"exceptions": {[]byte{0x06, blockEmpty, opEnd}, "opcode 0x06 (try)"},
		"tail calls": {[]byte{0x12, 0}, "opcode 0x12 (return_call)"},
		"atomics":    {[]byte{0xfe, 0}, "opcode 0xfe (an atomic instruction)"},
		"bulk":       {[]byte{opBulk, 15, 0}, "opcode 0xfc 15"},
		"simd":       {append([]byte{opSIMD}, appendU32(nil, 256)...), "opcode 0xfd 256"},
		"nothing":    {[]byte{0xff}, "opcode 0xff"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Instrument(function("", "", 0, test.code...))
			if err == nil || !strings.Contains(err.Error(), "function 0: the module has "+test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestModuleOfLittleButLoopsIsRefused(t *testing.T) {
	_, err := Instrument(function("", "", 0, bytes.Repeat([]byte{opLoop, blockEmpty, opEnd}, 100_000)...))
	if err == nil || !strings.Contains(err.Error(), "hardly more than loops") {
		t.Errorf("got %v", err)
	}
}

func TestModuleIsNotChanged(t *testing.T) {
	before := viaTable([]byte{0, opI32Const, 3, opEnd, 2, 0, 2}, []byte{3, 0, 1, 2})
	after := slices.Clone(before)
	mustInstrument(t, after)
	if !bytes.Equal(before, after) {
		t.Error("the rewriter wrote into its input")
	}
}
