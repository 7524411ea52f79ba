package plugin

import (
	"encoding/binary"
	"fmt"
)

// The most that a module may declare. wazero makes room for what a module declares before
// it looks whether it is there, and for tables outside the guest's memory: a module of
// twenty bytes could otherwise take all of the controller's. Compilers stay far below.
const (
	maxItems  = 200_000 // of one section: types, functions, exports and so on
	maxTable  = 1 << 20 // elements
	maxLocals = 50_000  // of one function
	maxValues = 1000    // parameters or results of one type
)

// The sections that preflight looks into.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionTable    = 4
	sectionExport   = 7
	sectionStart    = 8
	sectionElement  = 9
	sectionCode     = 10
	sectionData     = 11
	sectionDataSize = 12
)

// preflight walks a module far enough to know that what it declares is within bounds, and
// returns it without its custom sections, which say nothing that the host uses. Whether the
// module is valid is for wazero to say: what preflight cannot read, it may leave to it.
func preflight(module []byte) ([]byte, error) {
	const header = "\x00asm\x01\x00\x00\x00"
	if len(module) < len(header) || string(module[:len(header)]) != header {
		return nil, fmt.Errorf("this is not a valid WebAssembly module: it does not begin as one")
	}
	kept := append(make([]byte, 0, len(module)), header...)
	rest := reader{src: module[len(header):]}
	for len(rest.src) > 0 {
		before := rest.src
		id := rest.byte()
		body := reader{src: rest.take(rest.u32())}
		if rest.short {
			return nil, fmt.Errorf("this is not a valid WebAssembly module: section %d is cut off", id)
		}
		if id == sectionCustom {
			continue
		}
		if err := body.section(id); err != nil {
			return nil, err
		}
		if body.short {
			return nil, fmt.Errorf("this is not a valid WebAssembly module: section %d does not hold what it declares", id)
		}
		kept = append(kept, before[:len(before)-len(rest.src)]...)
	}
	return kept, nil
}

// reader takes apart a section. Once it is short of bytes it stays so and reads zeros.
type reader struct {
	src      []byte
	short    bool
	elements uint64 // so far, of all element segments
}

func (r *reader) section(id byte) error {
	if id == sectionStart || id == sectionDataSize {
		return nil // one number
	}
	items := r.u32()
	if items > maxItems {
		return fmt.Errorf("section %d of the module declares %d items, the most is %d", id, items, maxItems)
	}
	if int(items) > len(r.src) {
		r.short = true
	}
	item := map[byte]func() error{
		sectionType: r.functionType, sectionImport: r.importItem, sectionTable: r.table, sectionExport: r.export,
		sectionElement: r.element, sectionCode: r.code, sectionData: r.data,
	}[id]
	for n := uint32(0); item != nil && n < items && !r.short; n++ {
		if err := item(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) functionType() error {
	if form := r.byte(); form != 0x60 && !r.short {
		return fmt.Errorf("the module declares a type of the form %#x, a plugin has function types only", form)
	}
	for range 2 {
		values := r.u32()
		if values > maxValues {
			return fmt.Errorf("the module declares a function of %d parameters or results, the most is %d", values, maxValues)
		}
		r.take(values)
	}
	return nil
}

func (r *reader) importItem() error {
	r.take(r.u32()) // module
	r.take(r.u32()) // name
	switch kind := r.byte(); kind {
	case 0: // function
		r.u32()
	case 1:
		return r.table()
	case 2: // memory
		r.limits()
	case 3: // global
		r.take(2)
	default:
		return fmt.Errorf("the module imports something of the unknown kind %d", kind)
	}
	return nil
}

func (r *reader) table() error {
	if form := r.byte(); form != 0x70 && !r.short {
		return fmt.Errorf("the module declares a table of type %#x, a plugin has tables of functions only", form)
	}
	if least := r.limits(); least > maxTable {
		return fmt.Errorf("the module declares a table of %d elements, the most is %d", least, maxTable)
	}
	return nil
}

// limits returns the minimum.
func (r *reader) limits() uint32 {
	bounded := r.byte()&1 != 0
	least := r.u32()
	if bounded {
		r.u32()
	}
	return least
}

func (r *reader) export() error {
	r.take(r.u32())
	r.byte()
	r.u32()
	return nil
}

// element reads the two forms that compilers write: functions into a table, named or not.
func (r *reader) element() error {
	flags := r.u32()
	switch flags {
	case 0:
		r.expression()
	case 2:
		r.u32() // table
		r.expression()
		r.byte() // kind
	default:
		return fmt.Errorf("the module fills a table in form %d, a plugin may use forms 0 and 2", flags)
	}
	functions := r.u32()
	r.elements += uint64(functions)
	if r.elements > maxTable {
		return fmt.Errorf("the module fills tables with %d functions, the most is %d", r.elements, maxTable)
	}
	for ; functions > 0 && !r.short; functions-- {
		r.u32()
	}
	return nil
}

func (r *reader) code() error {
	body := reader{src: r.take(r.u32())}
	locals := uint64(0)
	for groups := body.u32(); groups > 0 && !body.short; groups-- {
		locals += uint64(body.u32())
		body.byte()
	}
	r.short = r.short || body.short
	if locals > maxLocals {
		return fmt.Errorf("the module declares a function of %d locals, the most is %d", locals, maxLocals)
	}
	return nil
}

func (r *reader) data() error {
	switch flags := r.u32(); flags {
	case 0:
		r.expression()
	case 1: // passive
	case 2:
		r.u32() // memory
		r.expression()
	default:
		return fmt.Errorf("the module has data of the unknown form %d", flags)
	}
	r.take(r.u32())
	return nil
}

// expression skips a constant expression of one instruction.
func (r *reader) expression() {
	r.byte() // i32.const or global.get
	r.leb()  // its number; the sign does not matter here
	r.byte() // end
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) take(n uint32) []byte {
	if r.short || uint64(n) > uint64(len(r.src)) {
		r.short, r.src = true, nil
		return nil
	}
	taken := r.src[:n]
	r.src = r.src[n:]
	return taken
}

func (r *reader) u32() uint32 {
	n := r.leb()
	if n > 1<<32-1 {
		r.short, r.src = true, nil
		return 0
	}
	return uint32(n)
}

func (r *reader) leb() uint64 {
	n, size := binary.Uvarint(r.src)
	if size <= 0 {
		r.short, r.src = true, nil
		return 0
	}
	r.src = r.src[size:]
	return n
}
