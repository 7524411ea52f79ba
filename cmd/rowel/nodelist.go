package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// nodeList writes node names as Slurm does, neighbours folded: "n[1-3,7],login".
// Names come out by prefix, then by number.
func nodeList(names []string) string {
	type numbered struct {
		prefix string
		digits int // width, so that n01 and n1 stay apart
		number uint64
	}
	var plain []string
	var folded []numbered
	for _, name := range names {
		prefix := strings.TrimRight(name, "0123456789")
		number, err := strconv.ParseUint(name[len(prefix):], 10, 64)
		if err != nil || prefix == "" {
			plain = append(plain, name)
			continue
		}
		folded = append(folded, numbered{prefix, len(name) - len(prefix), number})
	}
	slices.SortFunc(folded, func(a, b numbered) int {
		if c := strings.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		if a.digits != b.digits {
			return a.digits - b.digits
		}
		if a.number < b.number {
			return -1
		}
		return 1
	})
	var list []string
	for i := 0; i < len(folded); {
		first := folded[i]
		var ranges []string
		for i < len(folded) && folded[i].prefix == first.prefix && folded[i].digits == first.digits {
			start := folded[i].number
			end := start
			for i++; i < len(folded) && folded[i] == (numbered{first.prefix, first.digits, end + 1}); i++ {
				end++
			}
			text := fmt.Sprintf("%0*d", first.digits, start)
			if end > start {
				text += fmt.Sprintf("-%0*d", first.digits, end)
			}
			ranges = append(ranges, text)
		}
		if joined := strings.Join(ranges, ","); strings.ContainsAny(joined, ",-") {
			list = append(list, first.prefix+"["+joined+"]")
		} else {
			list = append(list, first.prefix+joined)
		}
	}
	slices.Sort(plain)
	return strings.Join(append(list, plain...), ",")
}
