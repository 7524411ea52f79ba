package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowelhq/rowel/core"
)

// exitError ends the process with a code of its own choice. Without an error to tell,
// everything worth saying has been said.
type exitError struct {
	code int
	err  error // nil: print nothing
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf is the error of a command line that cannot be understood: exit 64.
func usageErrorf(format string, args ...any) error {
	return &exitError{code: core.ExitUsage, err: fmt.Errorf(format, args...)}
}

// exitWith ends the process silently with a code, 0 for success.
func exitWith(code int) error {
	if code == core.ExitOK {
		return nil
	}
	return &exitError{code: code}
}

// report tells err on stderr, one line for each line of it, and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return core.ExitOK
	}
	code, silent := core.KindOf(err).ExitCode(), false
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		code, silent = exit.code, exit.err == nil
	}
	if !silent {
		warn(stderr, err.Error())
		return code
	}
	// What stands beside a silent exit has not been told.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			report(stderr, part)
		}
	}
	return code
}

// warn says something to the person at the terminal.
func warn(stderr io.Writer, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(stderr, "rowel: %s\n", line)
	}
}
