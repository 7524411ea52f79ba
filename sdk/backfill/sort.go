package backfill

// pair is a sort key of two words, compared first then second.
type pair struct{ first, second uint64 }

func (p pair) less(q pair) bool {
	return p.first < q.first || p.first == q.first && p.second < q.second
}

// sortPairs sorts by radix: comparing is what a guest does slowly. Bytes that all pairs
// share, which are most, cost no pass. It returns the sorted pairs and the other array:
// which is which depends on the passes.
func sortPairs(pairs, spare []pair) (sorted, other []pair) {
	var differFirst, differSecond uint64
	inOrder := true
	for i := 1; i < len(pairs); i++ {
		differFirst |= pairs[i].first ^ pairs[0].first
		differSecond |= pairs[i].second ^ pairs[0].second
		inOrder = inOrder && !pairs[i].less(pairs[i-1])
	}
	if inOrder {
		return pairs, spare
	}
	for shift := 0; shift < 64; shift += 8 {
		if differSecond>>shift&0xff != 0 {
			sortBySecond(spare, pairs, shift)
			pairs, spare = spare, pairs
		}
	}
	for shift := 0; shift < 64; shift += 8 {
		if differFirst>>shift&0xff != 0 {
			sortByFirst(spare, pairs, shift)
			pairs, spare = spare, pairs
		}
	}
	return pairs, spare
}

func sortByFirst(dst, src []pair, shift int) {
	var ends [257]int
	for i := range src {
		ends[src[i].first>>shift&0xff+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	for i := range src {
		at := &ends[src[i].first>>shift&0xff]
		dst[*at] = src[i]
		*at++
	}
}

func sortBySecond(dst, src []pair, shift int) {
	var ends [257]int
	for i := range src {
		ends[src[i].second>>shift&0xff+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	for i := range src {
		at := &ends[src[i].second>>shift&0xff]
		dst[*at] = src[i]
		*at++
	}
}
