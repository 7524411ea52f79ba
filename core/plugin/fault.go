package plugin

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"
)

// FaultKind is a way in which a guest fails. It is a metric's label.
type FaultKind string

// The kinds of fault that the host sees. The scheduler adds its own through Strike.
const (
	FaultStart     FaultKind = "start"     // an instance does not start
	FaultTrap      FaultKind = "trap"      // a panic, or an instruction that cannot go on
	FaultExit      FaultKind = "exit"      // the guest ended itself, with whatever code
	FaultDeadline  FaultKind = "deadline"  // no answer in time
	FaultFuel      FaultKind = "fuel"      // no answer within so much work
	FaultMemory    FaultKind = "memory"    // died of asking for more than its limit
	FaultMalformed FaultKind = "malformed" // an answer that is none
	FaultOutput    FaultKind = "output"    // an answer that is too large
)

// Fault is a guest's failure: not the controller's, and over once its instance is gone.
type Fault struct {
	Kind  FaultKind
	Cause error // with the guest's last words, where it left any
}

// Error implements error.
func (f *Fault) Error() string { return fmt.Sprintf("guest fault %s: %v", f.Kind, f.Cause) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// classify turns the error of a call into the fault that it is.
func classify(err error, denied bool, limits Limits, words string) *Fault {
	var exit *sys.ExitError
	switch {
	case errors.Is(err, errDeadline):
		return &Fault{FaultDeadline, fmt.Errorf("no answer within %v", limits.Deadline.Round(time.Millisecond))}
	case errors.Is(err, errOutOfFuel):
		return &Fault{FaultFuel, fmt.Errorf("no answer within %d units of fuel", limits.Fuel)}
	case denied:
		return &Fault{FaultMemory, fmt.Errorf("it needs more than its %d MiB of memory", limits.Memory>>20)}
	case errors.As(err, &exit):
		return &Fault{FaultExit, withWords(fmt.Errorf("it ended itself with exit code %d", exit.ExitCode()), words)}
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // the rest is a stack of wasm functions
	return &Fault{FaultTrap, withWords(errors.New(first), words)}
}

func withWords(err error, words string) error {
	if words == "" {
		return err
	}
	return fmt.Errorf("%s (%w)", words, err)
}
