package meter

import "fmt"

// region is the code that one head pays for.
type region struct {
	price        int // where its price is to be written; negative: nowhere yet
	instructions int64
}

// rewriter makes the new body of one function.
type rewriter struct {
	m   *module
	r   *reader
	out []byte

	regions []region
	blocks  []int // region of each open block, the function's own first
}

// rewriteCode returns the bodies of the module's functions.
func (m *module) rewriteCode() ([][]byte, error) {
	r, n := m.count(sectionCode)
	if int(n) != len(m.defined) {
		return nil, fmt.Errorf("the module has %d functions and code for %d", len(m.defined), n)
	}
	code := make([][]byte, 0, n)
	for i := range n {
		body := r.vector()
		if r.short {
			return nil, errCutOff
		}
		w := rewriter{m: m, r: &reader{src: body}, out: make([]byte, 0, len(body)+len(body)/2+64)}
		if err := w.function(); err != nil {
			return nil, fmt.Errorf("function %d: %w", uint64(len(m.imports))+uint64(i), err)
		}
		code = append(code, w.out)
	}
	return code, nil
}

func (w *rewriter) function() error {
	for groups := w.r.u32(); groups > 0 && !w.r.short; groups-- {
		w.r.u32()
		w.r.byte()
	}
	if w.r.short {
		return errCutOff
	}
	w.out = append(w.out, w.r.src[:w.r.at]...)
	w.regions, w.blocks = []region{{price: -1}}, []int{0}
	loops, err := w.loopsFirst()
	if err != nil {
		return err
	}
	if !loops {
		w.charge(0)
	}
	for len(w.blocks) > 0 {
		if err := w.instruction(); err != nil {
			return err
		}
		if w.r.short {
			return errCutOff
		}
	}
	if w.r.more() {
		return fmt.Errorf("it goes on behind its end")
	}
	for _, region := range w.regions {
		putPaddedI64(w.out[region.price:], 1+region.instructions/InstructionsPerUnit)
	}
	return nil
}

// loopsFirst reports whether whoever enters the function comes to the head of a loop
// before it can branch, call or end.
func (w *rewriter) loopsFirst() (bool, error) {
	for r := *w.r; r.more(); {
		switch op := r.byte(); {
		case op == opLoop:
			return true, nil
		case op <= opCallIndirect && op != opNop, op == opBulk, op == opRefFunc:
			return false, nil
		case op == opGlobalGet || op == opGlobalSet:
			r.u32()
		default:
			if err := skipImmediates(&r, op); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// charge makes this place the head of a region, which must not have one.
func (w *rewriter) charge(pays int) {
	fuel := w.m.fuel()
	w.out = append(appendU32(append(w.out, opGlobalGet), fuel), opI64Const)
	w.regions[pays].price = len(w.out)
	w.out = append(w.out, make([]byte, paddedI64)...)
	w.out = appendU32(append(w.out, opI64Sub, opGlobalSet), fuel)
	w.out = w.m.ask(w.out)
}

// instruction copies one, or writes what it becomes.
func (w *rewriter) instruction() error {
	current := w.blocks[len(w.blocks)-1]
	w.regions[current].instructions++
	from := w.r.at
	op := w.r.byte()
	switch op {
	case opCall, opRefFunc:
		return w.mention(op)
	case opBulk:
		return w.bulk(from)
	case opGlobalGet, opGlobalSet:
		if index := w.r.u32(); !w.r.short {
			if err := w.m.global(index); err != nil {
				return err
			}
		}
	case opMemoryGrow:
		w.regions[current].instructions += growPrice
		fallthrough
	default:
		if err := skipImmediates(w.r, op); err != nil {
			return err
		}
	}
	w.out = append(w.out, w.r.src[from:w.r.at]...)
	switch op {
	case opBlock, opIf:
		w.blocks = append(w.blocks, current)
	case opLoop:
		w.loop(current)
	case opEnd:
		w.blocks = w.blocks[:len(w.blocks)-1]
	}
	return nil
}

// loop opens a loop. Where it is the first thing that a function comes to, it pays for
// what is outside it too.
func (w *rewriter) loop(outer int) {
	pays := outer
	if w.regions[outer].price >= 0 {
		pays = len(w.regions)
		w.regions = append(w.regions, region{price: -1})
	}
	w.blocks = append(w.blocks, pays)
	w.charge(pays)
}

// mention writes an instruction that names a function.
func (w *rewriter) mention(op byte) error {
	index := w.r.u32()
	if w.r.short {
		return errCutOff
	}
	index, err := w.m.function(index)
	if err != nil {
		return err
	}
	w.out = appendU32(append(w.out, op), index)
	return nil
}

// bulk writes the call of the helper that stands for an instruction on a size, and copies
// the others behind opBulk.
func (w *rewriter) bulk(from int) error {
	sub := w.r.u32()
	switch sub {
	case bulkMemoryInit, bulkTableInit, bulkTableCopy, bulkMemoryCopy:
		first, second := w.r.u32(), w.r.u32()
		instruction := appendU32(appendU32([]byte{opBulk, byte(sub)}, first), second)
		w.out = appendU32(append(w.out, opCall), w.m.helpers.bulk(instruction))
		return nil
	case bulkMemoryFill:
		instruction := appendU32([]byte{opBulk, byte(sub)}, w.r.u32())
		w.out = appendU32(append(w.out, opCall), w.m.helpers.bulk(instruction))
		return nil
	case bulkDataDrop, bulkElemDrop:
		w.r.u32()
	default:
		if sub > bulkTableCopy {
			return refuse(opBulk, sub)
		}
	}
	w.out = append(w.out, w.r.src[from:w.r.at]...)
	return nil
}
