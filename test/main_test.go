package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// rowel is the binary under test, built once.
var rowel string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "rowel-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		rowel = filepath.Join(dir, "rowel")
		if out, err := exec.Command("go", "build", "-o", rowel, "../cmd/rowel").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build rowel: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}
