package structure

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/rowelhq/rowel"
)

// floors is the house, ground first. A package imports only what is on floors below its
// own, or in its own tree: core/wire and core/wire/wireconnect are one tree, and so is
// all of sdk.
var floors = [][]string{
	{"core", "sdk/abi"},
	{"core/config", "core/probe", "core/supervisor", "core/wire", "core/wire/wireconnect", "sdk", "sdk/backfill", "sdk/sdktest"},
	{"core/state", "core/plugin", "core/plugin/meter"},
	{"core/consensus", "core/scheduler", "core/health", "core/history", "core/agent", "core/dispatch"},
	{"core/api"},
	{"core/controller"},
	{"cmd/rowel"},
	{"test", "test/structure"},
}

// narrow lists trees that may import of ours only what is below one prefix: what runs in
// a sandbox, or is compiled into it, must not bring the core along.
var narrow = map[string]string{
	"plugins":              "sdk",
	"core/plugin/testdata": "sdk",
	"test/testdata":        "sdk",
	"sdk":                  "sdk",
}

// selfish packages are on a floor above core and use nothing of ours but core.
var selfish = []string{"core/config", "core/probe", "core/supervisor"}

func TestPackagesImportOnlyFloorsBelow(t *testing.T) {
	imports := readImports(t)
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			if why := refuse(from, to); why != "" {
				t.Errorf("%s imports %s (%s): %s", from, to, imports[from][to], why)
			}
		}
	}
}

func TestEveryPackageHasAFloor(t *testing.T) {
	imports := readImports(t)
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		if limit, _ := narrowed(pkg); floorOf(pkg) < 0 && (limit == "" || strings.HasPrefix(pkg, "sdk")) {
			t.Errorf("%s is on no floor: find what it may import and who may import it, "+
				"then add it to floors in this test and to docs/architecture.md", pkg)
		}
	}
	for _, floor := range floors {
		for _, pkg := range floor {
			if _, exists := imports[pkg]; !exists {
				t.Errorf("%s has a floor and no source: take it out of floors in this test and of docs/architecture.md", pkg)
			}
		}
	}
}

func TestFloorsRefuseWhatTheyShould(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"core/api", "core/state", true},
		{"core/wire/wireconnect", "core/wire", true},
		{"sdk/backfill", "sdk", true},
		{"core/scheduler", "sdk", true},
		{"plugins/policy/x", "sdk/backfill", true},
		{"core/probe", "core", true},
		{"core", "core/wire", false},
		{"core/scheduler", "core/health", false},
		{"core/state", "core/plugin", false},
		{"core/config", "sdk/abi", false},
		{"plugins/policy/x", "core", false},
		{"sdk", "core", false},
		{"core/api", "cmd/rowel", false},
	} {
		if why := refuse(c.from, c.to); (why == "") != c.allowed {
			t.Errorf("%s imports %s: %q, want allowed %v", c.from, c.to, why, c.allowed)
		}
	}
}

// refuse says why one package of ours must not import another, "" if it may.
func refuse(from, to string) string {
	switch limit, isNarrow := narrowed(from); {
	case isNarrow && to != limit && !strings.HasPrefix(to, limit+"/"):
		return "everything below " + path.Dir(from) + " imports of ours only " + limit
	case isNarrow && !strings.HasPrefix(from, "sdk"):
		return ""
	case slices.Contains(selfish, from) && to != "core":
		return from + " stands alone on core"
	case tree(from) == tree(to):
		return ""
	case floorOf(to) < 0:
		return to + " is on no floor"
	case floorOf(to) >= floorOf(from):
		return "it is not on a floor below; let the package above both hand over what is needed"
	}
	return ""
}

func narrowed(pkg string) (limit string, isNarrow bool) {
	for prefix, limit := range narrow {
		if pkg == prefix || strings.HasPrefix(pkg, prefix+"/") {
			return limit, true
		}
	}
	return "", false
}

func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, pkg) })
}

// tree is what counts as one package: all of sdk, all below core/wire.
func tree(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if parts[0] == "sdk" || len(parts) < 2 {
		return parts[0]
	}
	return parts[0] + "/" + parts[1]
}

// readImports returns for each package of ours the packages of ours that its files
// import, tests included, and a file that does.
func readImports(t *testing.T) map[string]map[string]string {
	t.Helper()
	imports := map[string]map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && strings.HasPrefix(name, ".") && name != ".." {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(relative))
		if imports[pkg] == nil {
			imports[pkg] = map[string]string{}
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if to, ours := strings.CutPrefix(imported, module+"/"); ours && to != pkg {
				imports[pkg][to] = filepath.ToSlash(relative)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
