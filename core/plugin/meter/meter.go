package meter

import (
	"errors"
	"fmt"
)

// Version names what the rewriter makes. It changes whenever equal input gives other output.
const Version = 1

// The host offers ImportTick from ImportModule: an (i64) -> (i64) that is given what is
// left in the counter, below zero when it was overdrawn, and returns what to put there.
const (
	ImportModule = "rowel_meter"
	ImportTick   = "tick"
)

// The prices.
const (
	// InstructionsPerUnit is how many instructions a unit buys at a loop's head or a
	// function's entry.
	InstructionsPerUnit = 128
	// SizePerUnit is how many bytes, or table elements, a unit buys of a bulk instruction.
	SizePerUnit = 1 << sizeShift
	// HostCallUnits is the price of calling a host function.
	HostCallUnits = 1000

	sizeShift    = 8
	growPrice    = 64 * InstructionsPerUnit // memory.grow leaves the guest for the host
	maxSwelling  = 4                        // times its own size that a module may become, and slack
	slack        = 64 << 10
	maxFunctions = 1 << 20 // of one module, imports too; more than its size allows a compiler
)

// Instrument returns the module with the counter in it, without its custom sections. The
// fuel counter is the last of its globals and begins at zero, so the guest's first step
// asks the host. The module must be valid; of one that is not, Instrument makes something
// invalid or returns an error, and it never panics. An error says in a sentence what a plugin may
// not use. The module is not changed.
func Instrument(module []byte) ([]byte, error) {
	m, err := parse(module)
	if err != nil {
		return nil, err
	}
	code, err := m.rewriteCode()
	if err != nil {
		return nil, err
	}
	out, err := m.encode(code)
	if err != nil {
		return nil, err
	}
	if most := maxSwelling*len(module) + slack; len(out) > most {
		return nil, fmt.Errorf("the module becomes %d bytes with a fuel counter in it, the most is %d: it is hardly more than loops", len(out), most)
	}
	return out, nil
}

// errCutOff is what a reader says that is short of bytes.
var errCutOff = errors.New("the module is cut off or has a number that is none")
