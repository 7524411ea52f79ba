package plugin

import (
	"github.com/rowelhq/rowel/sdk/abi"
)

// asm writes WebAssembly modules that no toolchain would: as few sections as they need,
// types from the signature of each function.
type asm struct {
	imports []asmImport
	exports []asmFunction
	pages   int    // of memory; negative: no memory
	data    string // at address 1024
}

type asmImport struct {
	module, name string
	params       int // i32
}

// asmFunction is an exported function without parameters that are looked at.
type asmFunction struct {
	name            string
	params, results []byte // value types
	body            []byte
}

const (
	typeI32 = 0x7f
	typeI64 = 0x7e
)

// Instructions.
var (
	unreachable = []byte{0x00}
	forever     = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b, 0x00} // loop br 0 end unreachable
)

func constI32(v int64) []byte { return append([]byte{0x41}, sleb(v)...) }
func constI64(v int64) []byte { return append([]byte{0x42}, sleb(v)...) }

// minimal is the least module that is a plugin: it describes itself and answers every
// picture with what lies at address 1024 behind the manifest.
func minimal() *asm {
	manifest := `{"abi":1,"kind":"policy","name":"least","version":"1.0.0"}`
	return &asm{
		pages: 1, data: manifest,
		exports: []asmFunction{
			{name: abi.ExportVersion, results: []byte{typeI32}, body: constI32(abi.Minor)},
			{name: abi.ExportAlloc, params: []byte{typeI32}, results: []byte{typeI32}, body: constI32(8192)},
			{
				name: abi.ExportDescribe, results: []byte{typeI64},
				body: constI64(int64(abi.NewResult(1024, uint32(len(manifest))))),
			},
			{name: abi.ExportPolicyCycle, params: []byte{typeI32}, results: []byte{typeI64}, body: constI64(0)},
		},
	}
}

// manifest makes the module describe itself so.
func (a *asm) manifest(text string) *asm {
	a.data = text
	return a.set(abi.ExportDescribe, constI64(int64(abi.NewResult(1024, uint32(len(text))))))
}

// set gives an exported function a body, or makes one without parameters and results.
func (a *asm) set(name string, body []byte) *asm {
	for i := range a.exports {
		if a.exports[i].name == name {
			a.exports[i].body = body
			return a
		}
	}
	a.exports = append(a.exports, asmFunction{name: name, body: body})
	return a
}

// rename gives an exported function another name; an empty one takes it away.
func (a *asm) rename(name, to string) *asm {
	kept := a.exports[:0]
	for _, f := range a.exports {
		if f.name == name {
			f.name = to
		}
		if f.name != "" {
			kept = append(kept, f)
		}
	}
	a.exports = kept
	return a
}

func (a *asm) bytes() []byte {
	var types, imports, functions, exports, code [][]byte
	for _, i := range a.imports {
		params := make([]byte, i.params)
		for p := range params {
			params[p] = typeI32
		}
		imports = append(imports, join(text(i.module), text(i.name), []byte{0x00}, uleb(len(types))))
		types = append(types, functionType(params, nil))
	}
	for i, f := range a.exports {
		functions = append(functions, uleb(len(types)))
		types = append(types, functionType(f.params, f.results))
		exports = append(exports, join(text(f.name), []byte{0x00}, uleb(len(a.imports)+i)))
		code = append(code, sized(join([]byte{0x00}, f.body, []byte{0x0b})))
	}
	out := join([]byte("\x00asm\x01\x00\x00\x00"), section(1, types), section(2, imports), section(3, functions))
	if a.pages >= 0 {
		out = append(out, section(5, [][]byte{join([]byte{0x00}, uleb(a.pages))})...)
		exports = append(exports, join(text(abi.ExportMemory), []byte{0x02, 0x00}))
	}
	out = append(out, join(section(7, exports), section(10, code))...)
	if a.pages > 0 {
		out = append(out, section(11, [][]byte{join([]byte{0x00}, constI32(1024), []byte{0x0b}, text(a.data))})...)
	}
	return out
}

func functionType(params, results []byte) []byte {
	return join([]byte{0x60}, sized(params), sized(results))
}

func section(id byte, items [][]byte) []byte {
	if len(items) == 0 {
		return nil
	}
	return join([]byte{id}, sized(join(append([][]byte{uleb(len(items))}, items...)...)))
}

func text(s string) []byte  { return sized([]byte(s)) }
func sized(b []byte) []byte { return join(uleb(len(b)), b) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func uleb(n int) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func sleb(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
