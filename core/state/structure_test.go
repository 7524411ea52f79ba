package state

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestApplyHasNoHiddenInputs keeps clocks, randomness, goroutines, files and the
// environment out of the package: equal logs would no longer give equal states.
func TestApplyHasNoHiddenInputs(t *testing.T) {
	allowed := map[string]bool{
		"bufio": true, "bytes": true, "encoding/binary": true, "errors": true, "fmt": true, "hash": true, "hash/crc64": true,
		"io": true, "iter": true, "maps": true, "math": true, "slices": true, "sync": true, "sync/atomic": true, "time": true,
		"unicode/utf8": true, "github.com/hashicorp/go-memdb": true, "google.golang.org/protobuf/encoding/protowire": true,
		"google.golang.org/protobuf/proto": true, "github.com/rowelhq/rowel/core": true, "github.com/rowelhq/rowel/core/wire": true,
	}
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "Tick": true, "NewTimer": true, "NewTicker": true, "Sleep": true, "AfterFunc": true}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			if path := strings.Trim(imported.Path.Value, `"`); !allowed[path] {
				t.Errorf("%s imports %s: is it deterministic?", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && clock[n.Sel.Name] {
					t.Errorf("%v reads the clock: time.%s", files.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.GoStmt, *ast.SelectStmt:
				t.Errorf("%v depends on the order of goroutines", files.Position(n.Pos()))
			}
			return true
		})
	}
}
