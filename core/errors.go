package core

import (
	"errors"
	"fmt"
)

// Kind says what a caller can do about an error. The API maps each kind to one
// status code and the CLI maps each to one exit code, in one place each.
type Kind uint8

// The kinds of error. Internal is the zero value: an error nobody classified.
const (
	Internal    Kind = iota // a defect in Rowel
	Invalid                 // the request can never succeed as it is
	NotFound                // the thing named does not exist
	Conflict                // the thing exists but its state forbids this
	NotLeader               // not done: ask the leader
	Unavailable             // not done: try again later or elsewhere
	Unknown                 // maybe applied: retry with the same request key
	Denied                  // the caller may not do this
	Exhausted               // a bound was reached: size, rate, depth
)

var kindNames = [...]string{
	"internal", "invalid", "not found", "conflict", "not leader",
	"unavailable", "unknown", "denied", "exhausted",
}

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// Errorf makes an error of a kind. Its text is a sentence for the person who asked:
// what, where and what to do next. A %w verb sets its cause as fmt.Errorf does.
func Errorf(kind Kind, format string, args ...any) error {
	return &kindError{kind: kind, error: fmt.Errorf(format, args...)}
}

// kindError keeps the text and the chain of a fmt.Errorf error and adds a kind.
type kindError struct {
	error
	kind Kind
}

func (e *kindError) Unwrap() error { return errors.Unwrap(e.error) }

// KindOf returns the kind of the first classified error in err's chain, Internal if
// there is none.
func KindOf(err error) Kind {
	var classified *kindError
	if errors.As(err, &classified) {
		return classified.kind
	}
	return Internal
}

// The process exit codes, from sysexits.h. A job's own exit code is passed through by
// `rowel run` and `rowel dev`; these are for Rowel's own failures.
const (
	ExitOK          = 0
	ExitFailure     = 1  // the request was understood and refused
	ExitUsage       = 64 // bad command line
	ExitBadInput    = 65 // bad input file
	ExitUnavailable = 69 // no controller answered, or it cannot serve now
	ExitCoreDied    = 70 // the Raft core is dead
	ExitCannotOpen  = 73 // cannot create or lock the data directory
	ExitBadConfig   = 78 // bad configuration
)

// ExitCode returns the process exit code for an error of this kind.
func (k Kind) ExitCode() int {
	switch k {
	case Invalid:
		return ExitBadInput
	case NotLeader, Unavailable, Unknown:
		return ExitUnavailable
	case Internal, NotFound, Conflict, Denied, Exhausted:
		return ExitFailure
	}
	return ExitFailure
}
