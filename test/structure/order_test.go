package structure

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStateRangesOverNoMap keeps the one hidden input out of Apply that its imports do
// not show: Go walks a map in another order each time, so replicas would differ.
// slices.Sorted(maps.Keys(m)) has an order.
func TestStateRangesOverNoMap(t *testing.T) {
	files, places := parse(t, filepath.Join(root, "core/state"))
	for _, at := range mapRanges(t, places, files, exportsOf(t, "./core/state")) {
		t.Errorf("%v ranges over a map: its order differs between replicas; range over slices.Sorted(maps.Keys(m))", at)
	}
}

func TestMapRangesAreFound(t *testing.T) {
	const source = `package p
func f(list []int, names map[string]int) {
	for range list { }
	for name := range names { _ = name }
}`
	places := token.NewFileSet()
	file, err := parser.ParseFile(places, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := mapRanges(t, places, []*ast.File{file}, nil)
	if len(found) != 1 || found[0].Line != 4 {
		t.Errorf("found %v, want line 4 alone", found)
	}
}

// mapRanges type-checks a package and returns where it ranges over a map.
func mapRanges(t *testing.T, places *token.FileSet, files []*ast.File, exports map[string]string) (found []token.Position) {
	t.Helper()
	open := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data for " + path)
		}
		return os.Open(exports[path])
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	checker := types.Config{Importer: importer.ForCompiler(places, "gc", open)}
	if _, err := checker.Check(files[0].Name.Name, places, files, &info); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok {
				if _, isMap := info.TypeOf(loop.X).Underlying().(*types.Map); isMap {
					found = append(found, places.Position(loop.Pos()))
				}
			}
			return true
		})
	}
	return found
}

// parse reads the files of a directory that are no tests.
func parse(t *testing.T, directory string) ([]*ast.File, *token.FileSet) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	places := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(places, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("no source in %s", directory)
	}
	return files, places
}

// exportsOf asks the go command for the compiled types of all that a package imports.
func exportsOf(t *testing.T, pkg string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", pkg)
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one struct{ ImportPath, Export string }
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[one.ImportPath] = one.Export
	}
}
