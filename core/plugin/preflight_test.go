package plugin

import (
	"bytes"
	"strings"
	"testing"
)

func TestModuleThatDeclaresTooMuchIsRefused(t *testing.T) {
	million := uleb(1 << 27)
	withTable := func(least int) []byte {
		return raw(4, join(uleb(1), []byte{0x70, 0x00}, uleb(least)))
	}
	tests := map[string]struct {
		module []byte
		want   string
	}{
		"functions that are not there": {raw(10, million), "section 10 of the module declares 134217728 items, the most is 200000"},
		"types that are not there":     {raw(1, uleb(1000)), "section 1 does not hold what it declares"},
		"parameters":                   {raw(1, join(uleb(1), []byte{0x60}, million)), "134217728 parameters or results"},
		"a table of a gigabyte":        {withTable(1 << 27), "a table of 134217728 elements, the most is 1048576"},
		"locals":                       {raw(10, join(uleb(1), uleb(6), uleb(1), million, []byte{0x7f})), "134217728 locals, the most is 50000"},
		"data that is not there":       {raw(11, join(uleb(1), uleb(0), constI32(0), []byte{0x0b}, million)), "section 11 does not hold"},
		"elements":                     {raw(9, join(uleb(1), uleb(0), constI32(0), []byte{0x0b}, million)), "fills tables with 134217728 functions"},
		"elements that are not there":  {raw(9, join(uleb(1), uleb(0), constI32(0), []byte{0x0b}, uleb(9))), "section 9 does not hold"},
		"locals beyond the function":   {raw(10, join(uleb(1), uleb(1), uleb(3), million, []byte{0x7f})), "section 10 does not hold"},
		"a name that is not there":     {raw(7, join(uleb(1), million)), "section 7 does not hold"},
		"a section that is not there":  {join([]byte("\x00asm\x01\x00\x00\x00\x07"), million), "section 7 is cut off"},
		"a length that is no number":   {join([]byte("\x00asm\x01\x00\x00\x00\x07"), bytes.Repeat([]byte{0xff}, 12)), "section 7 is cut off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := refuse(t, test.module, Limits{}); !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestGuestCannotGrowATable(t *testing.T) {
	// ref.null func; i32.const 1 << 20; table.grow 0; drop
	grow := join([]byte{0xd0, 0x70}, constI32(1<<20), []byte{0xfc, 0x0f, 0x00, 0x1a})
	module := minimal().set("grow", grow).bytes()
	if err := refuse(t, module, Limits{}); !strings.Contains(err.Error(), "not a valid WebAssembly module") {
		t.Error(err)
	}
}

func TestCustomSectionsAreLeftOut(t *testing.T) {
	plain := minimal().bytes()
	named := join(plain, section(0, [][]byte{text("name"), bytes.Repeat([]byte{0xff}, 100)}))
	got, err := preflight(named)
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes of %d are left, want %d (%v)", len(got), len(named), len(plain), err)
	}
}

func TestPreflightLeavesAGoGuestWhole(t *testing.T) {
	for name, module := range map[string][]byte{"embedded": Embedded(), "zoo": zooModule} {
		once, err := preflight(module)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if twice, err := preflight(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s: what preflight returns changes in another (%v)", name, err)
		}
	}
}

// raw is a module of one section.
func raw(id byte, body []byte) []byte {
	return join([]byte("\x00asm\x01\x00\x00\x00"), []byte{id}, sized(body))
}

func FuzzPreflight(f *testing.F) {
	f.Add(minimal().bytes())
	f.Add(withImport(asmImport{"env", "abort", 4}))
	f.Add(raw(4, join(uleb(1), []byte{0x70, 0x01}, uleb(1), uleb(2))))
	f.Add(raw(9, join(uleb(1), uleb(2), uleb(0), constI32(0), []byte{0x0b, 0x00}, uleb(1), uleb(0))))
	f.Fuzz(func(t *testing.T, module []byte) {
		kept, err := preflight(module)
		if err != nil {
			return
		}
		if len(kept) > len(module) {
			t.Fatalf("%d bytes became %d", len(module), len(kept))
		}
		// What it lets through, wazero takes or refuses without harm.
		if e, err := newEngine(t.Context(), kept, nil); err == nil {
			e.close(t.Context())
		}
	})
}
