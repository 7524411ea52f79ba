package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows of text under one header, printed in columns as wide as their widest
// cell. Numbers, and what else reads from the right, go to the right.
type table struct {
	columns []column
	rows    [][]string
}

type column struct {
	title string
	right bool
}

// left and right make the columns of a table.
func left(title string) column  { return column{title: title} }
func right(title string) column { return column{title: title, right: true} }

// add appends a row, which has one cell for each column.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table. Cells are made printable: what a user named a job must not
// move the cursor of whoever lists it.
func (t *table) write(w io.Writer, header bool) error {
	var rows [][]string
	if header {
		titles := make([]string, len(t.columns))
		for i, c := range t.columns {
			titles[i] = c.title
		}
		rows = append(rows, titles)
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		rows = append(rows, cells)
	}
	widths := make([]int, len(t.columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteByte(' ')
			}
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.columns[i].right {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable replaces control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, text)
}
