package config

import (
	"reflect"
	"slices"
	"strings"
)

// The schema is the hcl tags of Config and its blocks: a tagged struct is a block, any
// other tagged field a key.

// fieldOf returns the index of the field of a block that carries the name in its tag.
func fieldOf(block reflect.Type, name string) (index int, found bool) {
	for i := range block.NumField() {
		if tag, tagged := block.Field(i).Tag.Lookup("hcl"); tagged && tag == name {
			return i, true
		}
	}
	return 0, false
}

// namesIn returns the names of a block's keys and blocks, in the order of the struct.
func namesIn(block reflect.Type) []string {
	var names []string
	for i := range block.NumField() {
		if tag, tagged := block.Field(i).Tag.Lookup("hcl"); tagged {
			names = append(names, tag)
		}
	}
	return names
}

func isBlock(field reflect.Type) bool { return field.Kind() == reflect.Struct }

// keys returns every dotted key that a file may set.
func keys() []string {
	var all []string
	config := reflect.TypeFor[Config]()
	for _, name := range namesIn(config) {
		index, _ := fieldOf(config, name)
		if field := config.Field(index).Type; isBlock(field) {
			for _, inner := range namesIn(field) {
				all = append(all, name+"."+inner)
			}
			continue
		}
		all = append(all, name)
	}
	return all
}

// suggestion returns a remedy for a name that the block does not have: the nearest name
// in it, else the places that have this very name, else all that would be right.
func suggestion(block reflect.Type, name string) string {
	valid := namesIn(block)
	if near := nearest(name, valid); near != "" {
		return "did you mean " + near + "?"
	}
	var elsewhere []string
	for _, key := range keys() {
		if key == name || strings.HasSuffix(key, "."+name) {
			elsewhere = append(elsewhere, key)
		}
	}
	if len(elsewhere) > 0 {
		return "did you mean " + strings.Join(elsewhere, " or ") + "?"
	}
	slices.Sort(valid)
	return "valid here: " + strings.Join(valid, ", ")
}

// nearest returns the candidate with the fewest edits from name, or "" when all differ
// by more than a third of their letters.
func nearest(name string, candidates []string) string {
	best, fewest := "", 0
	for _, candidate := range candidates {
		if len(name) > 2*len(candidate) {
			continue // too far, and perhaps too long to measure
		}
		edits := distance(name, candidate)
		if edits <= max(1, len(candidate)/3) && (best == "" || edits < fewest) {
			best, fewest = candidate, edits
		}
	}
	return best
}

// distance is the number of bytes to insert, remove, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := table[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			edits := min(replace, table[i-1][j]+1, table[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				edits = min(edits, table[i-2][j-2]+1)
			}
			table[i][j] = edits
		}
	}
	return table[len(a)][len(b)]
}
