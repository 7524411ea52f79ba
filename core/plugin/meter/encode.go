package meter

import "fmt"

// encode puts the module together again around the rewritten code.
func (m *module) encode(code [][]byte) ([]byte, error) {
	var err error
	if m.body[sectionExport], err = m.exports(); err != nil {
		return nil, err
	}
	if m.body[sectionStart], err = m.start(); err != nil {
		return nil, err
	}
	if m.body[sectionElement], err = m.elements(); err != nil {
		return nil, err
	}
	if err = m.checkData(); err != nil {
		return nil, err
	}
	if m.body[sectionGlobal], err = m.withFuel(); err != nil {
		return nil, err
	}
	// What was above may have asked for helpers: only now all of them are known.
	m.extend(sectionType, 2, []byte{0x60, 1, i64, 1, i64, 0x60, 3, i32, i32, i32, 0})
	tick := appendVector(appendVector(nil, []byte(ImportModule)), []byte(ImportTick))
	m.extend(sectionImport, 1, appendU32(append(tick, 0), m.tickType()))
	m.extend(sectionFunction, len(m.helpers.types), m.helpers.encodeTypes())
	m.body[sectionCode], m.has[sectionCode] = nil, len(code)+len(m.helpers.bodies) > 0
	body := appendU32(nil, uint32(len(code)+len(m.helpers.bodies)))
	for _, bodies := range [][][]byte{code, m.helpers.bodies} {
		for _, b := range bodies {
			body = appendVector(body, b)
		}
	}
	m.body[sectionCode] = body

	out := []byte(header)
	for _, id := range order {
		if m.has[id] {
			out = appendVector(append(out, id), m.body[id])
		}
	}
	return out, nil
}

// extend adds items to a section whose items need no rewriting.
func (m *module) extend(section byte, items int, encoded []byte) {
	if items == 0 {
		return
	}
	r, n := m.count(section)
	body := appendU32(nil, n+uint32(items))
	m.body[section] = append(append(body, r.src[r.at:]...), encoded...)
	m.has[section] = true
}

// withFuel adds the counter to the globals.
func (m *module) withFuel() ([]byte, error) {
	r, n := m.count(sectionGlobal)
	out := appendU32(nil, n+1)
	for ; n > 0; n-- {
		out = append(out, r.take(2)...)
		var err error
		if out, err = m.constant(out, r); err != nil {
			return nil, err
		}
	}
	m.has[sectionGlobal] = true
	return append(out, i64, 1, opI64Const, 0, opEnd), r.err()
}

func (m *module) exports() ([]byte, error) {
	r, n := m.count(sectionExport)
	out := appendU32(nil, n)
	for ; n > 0; n-- {
		out = appendVector(out, r.vector())
		kind, index := r.byte(), r.u32()
		var err error
		switch {
		case r.short:
			return nil, errCutOff
		case kind == 0:
			index, err = m.function(index)
		case kind == 3:
			err = m.global(index)
		}
		if err != nil {
			return nil, err
		}
		out = appendU32(append(out, kind), index)
	}
	return out, r.err()
}

func (m *module) start() ([]byte, error) {
	if !m.has[sectionStart] {
		return nil, nil
	}
	r := m.reader(sectionStart)
	index := r.u32()
	if r.short {
		return nil, errCutOff
	}
	index, err := m.function(index)
	return appendU32(nil, index), err
}

// elements rewrites the segments that fill tables. Bits of the flags: 0 is passive or declared,
// 1 names a table (or, with bit 0, is declared), 2 has expressions in place of indices.
func (m *module) elements() ([]byte, error) {
	r, n := m.count(sectionElement)
	out := appendU32(nil, n)
	for ; n > 0; n-- {
		flags := r.u32()
		if flags > 7 {
			return nil, fmt.Errorf("the module fills a table in the unknown form %d", flags)
		}
		out = appendU32(out, flags)
		var err error
		if flags&1 == 0 {
			if flags&2 != 0 {
				out = appendU32(out, r.u32())
			}
			if out, err = m.constant(out, r); err != nil {
				return nil, err
			}
		}
		if flags&3 != 0 {
			out = append(out, r.byte()) // the kind or type of the elements
		}
		if out, err = m.members(out, r, flags&4 != 0); err != nil {
			return nil, err
		}
	}
	return out, r.err()
}

// members rewrites the elements of one segment.
func (m *module) members(out []byte, r *reader, expressions bool) ([]byte, error) {
	n := r.u32()
	out = appendU32(out, n)
	for ; n > 0; n-- {
		var err error
		if expressions {
			out, err = m.constant(out, r)
		} else if index := r.u32(); !r.short {
			index, err = m.function(index)
			out = appendU32(out, index)
		}
		if err != nil {
			return nil, err
		}
		if r.short {
			return nil, errCutOff
		}
	}
	return out, nil
}

// checkData looks at the expressions that say where data goes; they need no rewriting.
func (m *module) checkData() error {
	for r, n := m.count(sectionData); n > 0; n-- {
		flags := r.u32()
		if flags > 2 {
			return fmt.Errorf("the module has data of the unknown form %d", flags)
		}
		if flags == 2 {
			r.u32() // memory
		}
		if flags != 1 {
			if _, err := m.constant(nil, r); err != nil {
				return err
			}
		}
		r.vector()
		if r.short {
			return errCutOff
		}
	}
	return nil
}

// constant copies a constant expression.
func (m *module) constant(out []byte, r *reader) ([]byte, error) {
	for {
		from := r.at
		op := r.byte()
		switch op {
		case opEnd:
			return append(out, op), r.err()
		case opI32Const:
			r.skipLEB(5)
		case opI64Const:
			r.skipLEB(10)
		case opF32Const:
			r.take(4)
		case opF64Const:
			r.take(8)
		case opGlobalGet:
			if err := m.global(r.u32()); err != nil {
				return nil, err
			}
		case opRefNull:
			r.byte()
		case opRefFunc:
			index, err := m.function(r.u32())
			if err != nil {
				return nil, err
			}
			out = appendU32(append(out, op), index)
			from = r.at
		case opSIMD:
			if r.u32() != simdConst {
				return nil, fmt.Errorf("the module has a vector instruction in a constant expression")
			}
			r.take(16)
		default:
			if r.short {
				return nil, errCutOff
			}
			return nil, fmt.Errorf("the module has opcode %#02x in a constant expression, which a plugin may not use", op)
		}
		out = append(out, r.src[from:r.at]...)
		if r.short {
			return nil, errCutOff
		}
	}
}
