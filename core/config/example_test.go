package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const examplePath = "../../config.hcl.example"

func TestExampleStatesTheDefaults(t *testing.T) {
	got, err := Load(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("config.hcl.example states other values than Default:\n%s", diff)
	}
}

func TestExampleListsEveryKeyOnceAndNoOther(t *testing.T) {
	src, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	// With the comment signs gone from "# key = value" the file must still be valid.
	src = regexp.MustCompile(`(?m)^( *)# (\w+ +=)`).ReplaceAll(src, []byte("$1$2"))
	c, err := Parse("config.hcl.example", src)
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, key := range keys() {
		if _, listed := c.source.keys[key]; !listed {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		t.Errorf("config.hcl.example lacks %v: add a line with the default for each", missing)
	}
}

func TestEveryFieldOfTheSchemaHasATag(t *testing.T) {
	var walk func(block reflect.Type)
	walk = func(block reflect.Type) {
		for i := range block.NumField() {
			field := block.Field(i)
			if _, tagged := field.Tag.Lookup("hcl"); field.IsExported() && !tagged {
				t.Errorf("%s.%s has no hcl tag, so no file can set it", block, field.Name)
			}
			if field.IsExported() && isBlock(field.Type) {
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestNearestFindsTypingErrorsAndNothingFarther(t *testing.T) {
	for name, want := range map[string]string{
		"lisen": "listen", "Listen": "listen", "advertize": "advertise", "certificate": "", "x": "",
	} {
		if got := nearest(name, []string{"listen", "advertise"}); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if !slices.Contains(keys(), "raft.peers") {
		t.Error("keys() lacks raft.peers")
	}
}
