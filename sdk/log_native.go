//go:build !wasip1

package sdk

import (
	"fmt"
	"os"
)

func log(level int32, line string) { fmt.Fprintf(os.Stderr, "policy log %d: %s\n", level, line) }
