package core

import (
	"fmt"
	"strconv"
	"strings"
)

// IndexSet is a set of array indices kept as ordered ranges that do not touch, so that
// "0-99999" costs one. The zero value is empty. Its methods never change the receiver's
// ranges in place: a set may be shared between versions of a record.
type IndexSet struct {
	ranges []IndexRange
}

// IndexRange is the indices First, First+Step, … up to Last.
type IndexRange struct {
	First uint32
	Last  uint32
	Step  uint32 // at least 1
}

func (r IndexRange) len() uint32 { return (r.Last-r.First)/r.Step + 1 }

// NewIndexSet returns the set of the ranges, which must be in order and disjoint.
func NewIndexSet(ranges []IndexRange) (IndexSet, error) {
	for i, r := range ranges {
		if r.Step == 0 || r.Last > maxArrayIndex || r.Last < r.First || (r.Last-r.First)%r.Step != 0 {
			return IndexSet{}, Errorf(Invalid, "index range %d-%d:%d is malformed", r.First, r.Last, r.Step)
		}
		if i > 0 && r.First <= ranges[i-1].Last {
			return IndexSet{}, Errorf(Invalid, "index ranges are out of order at %d", r.First)
		}
	}
	return IndexSet{ranges: ranges}, nil
}

// Ranges returns the set's ranges in order. They are shared: do not change them.
func (s IndexSet) Ranges() []IndexRange { return s.ranges }

// Empty reports whether the set has no index.
func (s IndexSet) Empty() bool { return len(s.ranges) == 0 }

// Len returns the number of indices.
func (s IndexSet) Len() uint32 {
	var n uint32
	for _, r := range s.ranges {
		n += r.len()
	}
	return n
}

// First returns the lowest index; the set must not be empty.
func (s IndexSet) First() uint32 { return s.ranges[0].First }

// Contains reports whether index is in the set.
func (s IndexSet) Contains(index uint32) bool {
	for _, r := range s.ranges {
		if index >= r.First && index <= r.Last && (index-r.First)%r.Step == 0 {
			return true
		}
	}
	return false
}

// Without returns the set less one index. To take the first index of a single range is
// cheap however many ranges follow: that is how an array starts.
func (s IndexSet) Without(index uint32) IndexSet {
	if len(s.ranges) > 0 && s.ranges[0].First == index && s.ranges[0].Last == index {
		return IndexSet{ranges: s.ranges[1:]}
	}
	kept := make([]IndexRange, 0, len(s.ranges)+1)
	for _, r := range s.ranges {
		if index < r.First || index > r.Last || (index-r.First)%r.Step != 0 {
			kept = append(kept, r)
			continue
		}
		if index > r.First {
			kept = append(kept, IndexRange{First: r.First, Last: index - r.Step, Step: r.Step})
		}
		if index < r.Last {
			kept = append(kept, IndexRange{First: index + r.Step, Last: r.Last, Step: r.Step})
		}
	}
	return IndexSet{ranges: kept}
}

// String returns the set as sbatch --array writes it: "1,3,5-9,10-20:2".
func (s IndexSet) String() string {
	var b strings.Builder
	for i, r := range s.ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(r.First), 10))
		if r.First == r.Last {
			continue
		}
		fmt.Fprintf(&b, "-%d", r.Last)
		if r.Step > 1 {
			fmt.Fprintf(&b, ":%d", r.Step)
		}
	}
	return b.String()
}

// MarshalText writes the set as String does.
func (s IndexSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a set as ParseArray does, without a %limit.
func (s *IndexSet) UnmarshalText(text []byte) error {
	spec, err := ParseArray(string(text))
	if err != nil {
		return err
	}
	*s = spec.Indices
	return nil
}

// Bounds on one array. Its ranges are copied whenever one of them shrinks, so they are
// few; 4 KiB of text, the most that a description may have, cannot write more.
const (
	MaxArrayElements = 100_000
	MaxArrayRanges   = 2048

	maxArrayIndex = 1<<31 - 1
)

// ParseArray reads the value of sbatch --array: "0-15", "1,3,5-7", "0-15:4", "0-99%10".
func ParseArray(text string) (*ArraySpec, error) {
	bad := func(what string) error {
		return Errorf(Invalid, "array %.80q: %s; write it as 0-15, 1,3,5-7, 0-15:4 or 0-99%%10", text, what)
	}
	list, limit, limited := strings.Cut(text, "%")
	spec := &ArraySpec{Description: text}
	if limited {
		n, err := strconv.ParseUint(limit, 10, 32)
		if err != nil || n == 0 {
			return nil, bad("the limit after % must be a positive number")
		}
		spec.MaxAtOnce = uint32(n)
	}
	var ranges []IndexRange
	total := uint64(0)
	for item := range strings.SplitSeq(list, ",") {
		r, err := parseIndexRange(item)
		if err != nil {
			return nil, bad(err.Error())
		}
		if len(ranges) > 0 && r.First <= ranges[len(ranges)-1].Last {
			return nil, bad("indices must be in growing order")
		}
		ranges = append(ranges, r)
		if total += uint64(r.len()); total > MaxArrayElements {
			return nil, bad(fmt.Sprintf("more than %d elements", MaxArrayElements))
		}
		if len(ranges) > MaxArrayRanges {
			return nil, bad(fmt.Sprintf("more than %d ranges", MaxArrayRanges))
		}
	}
	spec.Indices = IndexSet{ranges: ranges}
	return spec, nil
}

func parseIndexRange(item string) (IndexRange, error) {
	span, stepText, stepped := strings.Cut(item, ":")
	firstText, lastText, ranged := strings.Cut(span, "-")
	first, err := strconv.ParseUint(firstText, 10, 31)
	if err != nil {
		return IndexRange{}, fmt.Errorf("%.40q is no index", item)
	}
	r := IndexRange{First: uint32(first), Last: uint32(first), Step: 1}
	if ranged {
		last, err := strconv.ParseUint(lastText, 10, 31)
		if err != nil || uint32(last) < r.First {
			return IndexRange{}, fmt.Errorf("%.40q is no range", item)
		}
		r.Last = uint32(last)
	}
	if stepped {
		step, err := strconv.ParseUint(stepText, 10, 31)
		if err != nil || step == 0 || !ranged {
			return IndexRange{}, fmt.Errorf("%.40q has a bad step", item)
		}
		r.Step = uint32(step)
		r.Last = r.First + (r.Last-r.First)/r.Step*r.Step
	}
	if r.First == r.Last {
		r.Step = 1
	}
	return r, nil
}
