package controller

import (
	"errors"
	"fmt"

	"github.com/rowelhq/rowel/core"
)

// ErrCannotOpen is in the chain of New's error when the data directory or something in
// it cannot be made, locked or read.
var ErrCannotOpen = errors.New("cannot open the data directory")

// cannotOpen says so of an error whose own text says what and where. A wrong
// configuration stays one.
func cannotOpen(err error) error {
	if core.KindOf(err) == core.Invalid {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCannotOpen, err)
}
