package meter

import "math"

// reader takes apart bytes. Once it is short of them it stays so and reads zeros: who
// reads looks at short where it matters.
type reader struct {
	src   []byte
	at    int
	short bool
}

func (r *reader) more() bool { return !r.short && r.at < len(r.src) }

func (r *reader) fail() { r.short, r.at = true, len(r.src) }

func (r *reader) err() error {
	if r.short {
		return errCutOff
	}
	return nil
}

func (r *reader) byte() byte {
	if r.at >= len(r.src) {
		r.fail()
		return 0
	}
	r.at++
	return r.src[r.at-1]
}

func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.src)-r.at) {
		r.fail()
		return nil
	}
	r.at += int(n)
	return r.src[r.at-int(n) : r.at]
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *reader) u32() uint32 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > math.MaxUint32 {
				r.fail()
			}
			return uint32(n)
		}
	}
	r.fail()
	return 0
}

// skipLEB skips a LEB128 of at most so many bytes, signed or not.
func (r *reader) skipLEB(most int) {
	for range most {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail()
}

// vector reads a length and a body of so many bytes.
func (r *reader) vector() []byte { return r.take(r.u32()) }

// limits skips those of a table or memory.
func (r *reader) limits() {
	if bounded := r.byte()&1 != 0; bounded {
		r.u32()
	}
	r.u32()
}

func appendU32(out []byte, n uint32) []byte {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func appendVector(out, body []byte) []byte {
	return append(appendU32(out, uint32(len(body))), body...)
}

// appendI64 appends a signed LEB128 of a number that is not negative.
func appendI64(out []byte, n int64) []byte {
	for ; n >= 0x40; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n&0x7f))
}

// paddedI64 is the size of a number written by putPaddedI64: enough for the price of a
// function of MaxInt32 instructions.
const paddedI64 = 5

// putPaddedI64 writes a signed LEB128 below 1<<34 to the first paddedI64 bytes.
func putPaddedI64(out []byte, n int64) {
	for i := range paddedI64 {
		out[i] = byte(n>>(7*i))&0x7f | 0x80
	}
	out[paddedI64-1] &= 0x7f
}
