package main

import (
	"strings"
	"testing"
)

func TestTableAlignsColumnsAndMakesCellsPrintable(t *testing.T) {
	table := table{columns: []column{right("ID"), left("NAME"), left("LAST")}}
	table.add("7", "é", "x")
	table.add("123", "long\x1b[31m\nname", "")
	var b strings.Builder
	if err := table.write(&b, true); err != nil {
		t.Fatal(err)
	}
	want := " ID NAME           LAST\n  7 é              x\n123 long?[31m?name\n"
	if b.String() != want {
		t.Errorf("got\n%q, want\n%q", b.String(), want)
	}
}

func TestNodeListFoldsNeighbours(t *testing.T) {
	for names, want := range map[string]string{
		"":                   "",
		"n1":                 "n1",
		"n2,n1,n3,n7":        "n[1-3,7]",
		"n01,n02,n1":         "n1,n[01-02]",
		"login,n2,n1,a9":     "a9,n[1-2],login",
		"42,n1":              "n1,42",
		"rack1-n1,rack1-n2":  "rack1-n[1-2]",
		"n1,n99999999999999": "n1,n99999999999999",
	} {
		if got := nodeList(splitList(names)); got != want {
			t.Errorf("nodeList(%s) = %s, want %s", names, got, want)
		}
	}
}
