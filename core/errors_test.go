package core

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestKindSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("outer: %w", Errorf(NotFound, "no %s: %w", "job", io.EOF))
	if KindOf(err) != NotFound || !errors.Is(err, io.EOF) || err.Error() != "outer: no job: EOF" {
		t.Errorf("got %v of kind %v", err, KindOf(err))
	}
}

func TestUnclassifiedErrorIsInternal(t *testing.T) {
	if got := KindOf(io.EOF); got != Internal {
		t.Errorf("got %v", got)
	}
}

func TestEveryKindHasNameAndExitCode(t *testing.T) {
	for k := Internal; k <= Exhausted; k++ {
		if k.String() == "" || k.ExitCode() == ExitOK {
			t.Errorf("kind %d is %q and exits %d", k, k, k.ExitCode())
		}
	}
}
