package core

import (
	"slices"
	"strings"
	"testing"
)

func mustParse(t *testing.T, text string) IndexSet {
	t.Helper()
	spec, err := ParseArray(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec.Indices
}

func members(s IndexSet) []uint32 {
	var all []uint32
	for i := range uint32(200) {
		if s.Contains(i) {
			all = append(all, i)
		}
	}
	return all
}

func TestParseArrayReadsWhatSbatchTakes(t *testing.T) {
	cases := []struct {
		text, canonical string
		members         []uint32
		atOnce          uint32
	}{
		{"7", "7", []uint32{7}, 0},
		{"0-3", "0-3", []uint32{0, 1, 2, 3}, 0},
		{"1,3,5-7", "1,3,5-7", []uint32{1, 3, 5, 6, 7}, 0},
		{"0-15:4", "0-12:4", []uint32{0, 4, 8, 12}, 0},
		{"5-5:3", "5", []uint32{5}, 0},
		{"0-3%2", "0-3", []uint32{0, 1, 2, 3}, 2},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			spec, err := ParseArray(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := members(spec.Indices); !slices.Equal(got, c.members) || int(spec.Indices.Len()) != len(c.members) {
				t.Errorf("members %v, length %d", got, spec.Indices.Len())
			}
			if spec.Indices.String() != c.canonical || spec.MaxAtOnce != c.atOnce || spec.Description != c.text {
				t.Errorf("got %+v, written %s", spec, spec.Indices)
			}
		})
	}
}

func TestParseArrayRefusesNonsense(t *testing.T) {
	for _, text := range []string{
		"", "a", "-1", "1-", "3-1", "1,1", "2,1", "0-5,3", "0-9:0", "5:2", "0-3%0", "0-3%x", "4294967296", "2147483648",
		"0-100000", "0-2147483647", "1 ,2", strings.Repeat("x", 5000),
	} {
		if spec, err := ParseArray(text); KindOf(err) != Invalid || err == nil {
			t.Errorf("%.20q gave %v, %v", text, spec, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("%.20q: the error has %d bytes", text, len(err.Error()))
		}
	}
}

func TestParseArrayBoundsRanges(t *testing.T) {
	var text strings.Builder
	text.WriteString("0")
	for i := 2; i <= 2*MaxArrayRanges; i += 2 {
		text.WriteString("," + JobID(i).String())
	}
	if _, err := ParseArray(text.String()); KindOf(err) != Invalid || err == nil {
		t.Errorf("got %v", err)
	}
}

func TestIndexSetWithoutTakesOneIndex(t *testing.T) {
	for _, text := range []string{"0", "0-5", "3-20:4", "1,3,5-9,12-20:2"} {
		set := mustParse(t, text)
		all := members(set)
		for _, index := range all {
			rest := set.Without(index)
			expected := slices.DeleteFunc(slices.Clone(all), func(i uint32) bool { return i == index })
			if got := members(rest); !slices.Equal(got, expected) || int(rest.Len()) != len(expected) || rest.Empty() != (len(expected) == 0) {
				t.Errorf("%s without %d is %v", text, index, got)
			}
			if _, err := NewIndexSet(rest.Ranges()); err != nil {
				t.Errorf("%s without %d: %v", text, index, err)
			}
		}
		if got := members(set); !slices.Equal(got, all) {
			t.Errorf("%s changed to %v", text, got)
		}
	}
}

func TestIndexSetWithoutWhatItHasNotIsTheSame(t *testing.T) {
	set := mustParse(t, "2-8:2")
	for _, index := range []uint32{0, 3, 9} {
		if got := set.Without(index).String(); got != "2-8:2" {
			t.Errorf("without %d: %s", index, got)
		}
	}
}

func TestIndexSetWithoutItsFirstSharesTheRest(t *testing.T) {
	set := mustParse(t, "1,3,5,7,9")
	if allocations := testing.AllocsPerRun(10, func() { set.Without(1) }); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestNewIndexSetRefusesWhatIsMalformed(t *testing.T) {
	for _, ranges := range [][]IndexRange{
		{{First: 0, Last: 1, Step: 0}},
		{{First: 2, Last: 1, Step: 1}},
		{{First: 0, Last: 3, Step: 2}},
		{{First: 0, Last: 1 << 31, Step: 1 << 31}},
		{{First: 3, Last: 5, Step: 1}, {First: 5, Last: 6, Step: 1}},
		{{First: 3, Last: 5, Step: 1}, {First: 0, Last: 1, Step: 1}},
	} {
		if _, err := NewIndexSet(ranges); KindOf(err) != Invalid || err == nil {
			t.Errorf("%v gave %v", ranges, err)
		}
	}
}

func FuzzParseArray(f *testing.F) {
	for _, text := range []string{"0-15", "1,3,5-7", "0-15:4", "0-99%10", "7", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseArray(text)
		if err != nil {
			return
		}
		var again IndexSet
		if err := again.UnmarshalText([]byte(spec.Indices.String())); err != nil {
			t.Fatal(err)
		}
		if again.String() != spec.Indices.String() || again.Len() != spec.Indices.Len() {
			t.Errorf("%q is written %s and read %s", text, spec.Indices, again)
		}
		if n := again.Len(); n == 0 || n > MaxArrayElements {
			t.Errorf("%d elements", n)
		}
		if _, err := NewIndexSet(spec.Indices.Ranges()); err != nil {
			t.Error(err)
		}
	})
}
