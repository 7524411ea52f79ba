package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Problem is one thing wrong with a configuration.
type Problem struct {
	File   string // empty when no file was read
	Line   int    // from 1; 0 when the key concerned is not in the file
	Column int    // from 1, in characters
	Key    string // dotted, "raft.peers"; empty for a syntax error
	Text   string // what is wrong and what to do
}

// String writes file:line:column, the key and the text.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is the error of a bad configuration: all that is wrong with it, in the order
// of the file.
type Problems []Problem

// Error writes one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err returns the problems as an error, nil when there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

func (ps *Problems) add(at hcl.Range, key, format string, args ...any) {
	*ps = append(*ps, Problem{
		File:   at.Filename,
		Line:   at.Start.Line,
		Column: at.Start.Column,
		Key:    key,
		Text:   fmt.Sprintf(format, args...),
	})
}

// addDiagnostics takes over what the HCL parser or evaluator found.
func (ps *Problems) addDiagnostics(file, key string, diagnostics hcl.Diagnostics) {
	for _, d := range diagnostics {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := hcl.Range{Filename: file}
		if d.Subject != nil {
			at = *d.Subject
		}
		detail := strings.Join(strings.Fields(d.Detail), " ")
		ps.add(at, key, "%s: %s", strings.ToLower(d.Summary), detail)
	}
}

// source remembers where a file sets each key, so that what is found wrong after
// decoding can still be pointed at.
type source struct {
	file string
	keys map[string]hcl.Range
}

// at returns where the key is set, else where its block is, else the file.
func (s source) at(key string) hcl.Range {
	for {
		if at, ok := s.keys[key]; ok {
			return at
		}
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return hcl.Range{Filename: s.file}
		}
		key = key[:dot]
	}
}
