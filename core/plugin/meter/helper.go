package meter

// The helpers of a module are functions that are added behind its own. Each is made when
// the first one asks for it.
type helpers struct {
	m       *module
	indices map[string]uint32 // by what it stands for
	types   []uint32
	bodies  [][]byte
}

// piece is how much is filled or copied between two looks at the counter, in bytes. The first
// touch of so much memory takes some 100 microseconds.
const piece = 1 << 20

// Locals of a bulk helper.
const (
	localTo = iota
	localFrom
	localSize
)

func (h *helpers) add(key string, typ uint32, body func() []byte) uint32 {
	if index, made := h.indices[key]; made {
		return index
	}
	index := uint32(len(h.m.imports) + 1 + len(h.m.defined) + len(h.types))
	h.indices[key] = index
	h.types = append(h.types, typ)
	h.bodies = append(h.bodies, body())
	return index
}

func (h *helpers) encodeTypes() (out []byte) {
	for _, t := range h.types {
		out = appendU32(out, t)
	}
	return out
}

// hostCall returns the function that stands for an imported one: it pays, asks the host
// whether to go on, and calls.
func (h *helpers) hostCall(index uint32) uint32 {
	typ := h.m.imports[index]
	return h.add("call "+string(appendU32(nil, index)), typ, func() []byte {
		out := []byte{0} // locals
		out = appendU32(append(out, opGlobalGet), h.m.fuel())
		out = appendI64(append(out, opI64Const), HostCallUnits)
		out = append(out, opI64Sub)
		out = h.m.tickNow(appendU32(append(out, opGlobalSet), h.m.fuel()))
		for p := range h.m.params[typ] {
			out = appendU32(append(out, opLocalGet), p)
		}
		out = appendU32(append(out, opCall), index)
		return append(out, opEnd)
	})
}

// bulk returns the function that stands for an instruction of three i32, the last a size.
func (h *helpers) bulk(instruction []byte) uint32 {
	return h.add("bulk "+string(instruction), h.m.bulkType(), func() []byte {
		out := []byte{0} // locals
		switch instruction[1] {
		case bulkMemoryFill:
			out = h.pieces(out, instruction, true)
		case bulkMemoryCopy:
			out = h.pieces(out, instruction, false)
		}
		out = h.payForSize(out, []byte{opLocalGet, localSize})
		out = append(out, opLocalGet, localTo, opLocalGet, localFrom, opLocalGet, localSize)
		return append(append(out, instruction...), opEnd)
	})
}

// pieces does a fill or copy but for its last piece: while there is more than one to do,
// the first of it, in the direction that an overlapping copy needs. What reaches outside
// memory traps before anything is written, as the instruction would.
func (h *helpers) pieces(out, instruction []byte, fill bool) []byte {
	out = trapOutside(ifBig(out), instruction, localTo)
	if fill {
		return append(h.loop(out, func(out []byte) []byte { return ahead(out, instruction, localTo) }), opEnd)
	}
	out = trapOutside(out, instruction, localFrom)
	out = append(out, opLocalGet, localTo, opLocalGet, localFrom, opI32LeU, opIf, blockEmpty)
	out = h.loop(out, func(out []byte) []byte { return ahead(out, instruction, localTo, localFrom) })
	out = h.loop(append(out, opElse), func(out []byte) []byte { return back(out, instruction) })
	return append(out, opEnd, opEnd)
}

// ifBig opens a block that runs when there is more than a piece to do.
func ifBig(out []byte) []byte {
	out = appendI64(append(out, opLocalGet, localSize, opI32Const), piece)
	return append(out, opI32GtU, opIf, blockEmpty)
}

// trapOutside has the whole instruction trap if what begins at the address reaches
// outside memory.
func trapOutside(out, instruction []byte, address byte) []byte {
	out = append(out, opLocalGet, address, opI64ExtendI32U, opLocalGet, localSize, opI64ExtendI32U, opI64Add)
	out = append(out, opMemorySize, 0, opI64ExtendI32U, opI64Const, 16, opI64Shl)
	out = append(out, opI64GtU, opIf, blockEmpty, opLocalGet, localTo, opLocalGet, localFrom, opLocalGet, localSize)
	return append(append(out, instruction...), opEnd)
}

// loop repeats and pays for a piece while there is more than one.
func (h *helpers) loop(out []byte, piecewise func(out []byte) []byte) []byte {
	out = ifBig(append(out, opLoop, blockEmpty))
	out = piecewise(h.payForSize(out, appendI64([]byte{opI32Const}, piece)))
	return append(out, opBr, 1, opEnd, opEnd)
}

// ahead does the first piece and moves the addresses behind it.
func ahead(out, instruction []byte, addresses ...byte) []byte {
	out = appendI64(append(out, opLocalGet, localTo, opLocalGet, localFrom, opI32Const), piece)
	out = append(out, instruction...)
	for _, local := range addresses {
		out = advance(out, local, opI32Add)
	}
	return advance(out, localSize, opI32Sub)
}

// back does the last piece.
func back(out, instruction []byte) []byte {
	out = advance(out, localSize, opI32Sub)
	for _, local := range []byte{localTo, localFrom} {
		out = append(out, opLocalGet, local, opLocalGet, localSize, opI32Add)
	}
	return append(appendI64(append(out, opI32Const), piece), instruction...)
}

// advance adds or subtracts a piece.
func advance(out []byte, local, op byte) []byte {
	out = appendI64(append(out, opLocalGet, local, opI32Const), piece)
	return append(out, op, opLocalSet, local)
}

// payForSize charges for the size that an instruction leaves on the stack.
func (h *helpers) payForSize(out, size []byte) []byte {
	out = appendU32(append(out, opGlobalGet), h.m.fuel())
	out = append(append(out, size...), opI64ExtendI32U)
	out = append(out, opI64Const, sizeShift, opI64ShrU, opI64Const, 1, opI64Add, opI64Sub)
	return h.m.ask(appendU32(append(out, opGlobalSet), h.m.fuel()))
}

// ask appends: if the counter is below zero, ask the host.
func (m *module) ask(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), m.fuel())
	return append(m.tickNow(append(out, opI64Const, 0, opI64LtS, opIf, blockEmpty)), opEnd)
}

// tickNow appends: give the host the counter, and take what it says. The counter has been
// written before, so that what the host reads of a guest that it stopped is true.
func (m *module) tickNow(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), m.fuel())
	out = appendU32(append(out, opCall), m.tick())
	return appendU32(append(out, opGlobalSet), m.fuel())
}
