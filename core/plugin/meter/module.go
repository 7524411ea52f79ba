package meter

import (
	"fmt"
	"slices"
)

// The sections of a module by their numbers.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sections
)

const header = "\x00asm\x01\x00\x00\x00"

// order is the one in which sections stand.
var order = []byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
	sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

// module is one taken apart as far as the rewriter needs.
type module struct {
	body [sections][]byte // as read
	has  [sections]bool

	params          []uint32 // of each type
	imports         []uint32 // type of each imported function
	defined         []uint32 // type of each function of the module's own
	importedGlobals uint32
	globals         uint32 // imported and own

	helpers helpers
}

func parse(src []byte) (*module, error) {
	if len(src) < len(header) || string(src[:len(header)]) != header {
		return nil, fmt.Errorf("this is not a WebAssembly module of version 1")
	}
	m := &module{}
	last := -1
	for r := (reader{src: src, at: len(header)}); r.more(); {
		id, body := r.byte(), r.vector()
		if r.short {
			return nil, errCutOff
		}
		if id == sectionCustom {
			continue
		}
		at := slices.Index(order, id)
		if at < 0 {
			return nil, fmt.Errorf("the module has a section %d, which a plugin may not have", id)
		}
		if at <= last {
			return nil, fmt.Errorf("the module's section %d is twice there or in the wrong place", id)
		}
		last = at
		m.body[id], m.has[id] = body, true
	}
	for _, read := range []func() error{m.readTypes, m.readImports, m.readFunctions, m.readGlobals} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	m.helpers = helpers{m: m, indices: map[string]uint32{}}
	return m, nil
}

func (m *module) reader(section byte) *reader { return &reader{src: m.body[section]} }

// count reads how many items a section has.
func (m *module) count(section byte) (r *reader, items uint32) {
	r = m.reader(section)
	if m.has[section] {
		items = r.u32()
	}
	return r, items
}

func (m *module) readTypes() error {
	for r, n := m.count(sectionType); n > 0; n-- {
		if form := r.byte(); form != 0x60 && !r.short {
			return fmt.Errorf("the module declares a type of form %#x, a plugin has function types only", form)
		}
		m.params = append(m.params, uint32(len(r.vector())))
		r.vector() // results
		if r.short {
			return errCutOff
		}
	}
	return nil
}

func (m *module) readImports() error {
	for r, n := m.count(sectionImport); n > 0; n-- {
		if from := string(r.vector()); from == ImportModule {
			return fmt.Errorf("the module imports from %s, which is the host's own", ImportModule)
		}
		r.vector() // name
		switch kind := r.byte(); kind {
		case 0:
			m.imports = append(m.imports, r.u32())
		case 1:
			r.byte()
			r.limits()
		case 2:
			r.limits()
		case 3:
			r.take(2)
			m.importedGlobals++
		default:
			return fmt.Errorf("the module imports something of the unknown kind %d", kind)
		}
		if r.short {
			return errCutOff
		}
	}
	for _, index := range m.imports {
		if int(index) >= len(m.params) {
			return fmt.Errorf("the module imports a function of type %d, which it does not have", index)
		}
	}
	return nil
}

func (m *module) readFunctions() error {
	for r, n := m.count(sectionFunction); n > 0; n-- {
		m.defined = append(m.defined, r.u32())
		if r.short {
			return errCutOff
		}
	}
	if len(m.imports)+len(m.defined) > maxFunctions {
		return fmt.Errorf("the module has more than %d functions", maxFunctions)
	}
	return nil
}

// readGlobals only counts them; encode reads them again.
func (m *module) readGlobals() error {
	r, n := m.count(sectionGlobal)
	m.globals = m.importedGlobals + n
	if r.short || m.globals < n || uint64(n) > uint64(len(r.src)) {
		return errCutOff
	}
	return nil
}

// function returns the index that a function of the original has in what is made of it.
// An imported function is replaced by the helper that calls it.
func (m *module) function(index uint32) (uint32, error) {
	if uint64(index) >= uint64(len(m.imports)+len(m.defined)) {
		return 0, fmt.Errorf("the module mentions function %d, it has %d", index, len(m.imports)+len(m.defined))
	}
	if int(index) < len(m.imports) {
		return m.helpers.hostCall(index), nil
	}
	return index + 1, nil
}

// global refuses an index that is not the module's.
func (m *module) global(index uint32) error {
	if index >= m.globals {
		return fmt.Errorf("the module mentions global %d, it has %d", index, m.globals)
	}
	return nil
}

// The indices of what is added.
func (m *module) tick() uint32     { return uint32(len(m.imports)) }
func (m *module) fuel() uint32     { return m.globals }
func (m *module) tickType() uint32 { return uint32(len(m.params)) }
func (m *module) bulkType() uint32 { return uint32(len(m.params)) + 1 }
