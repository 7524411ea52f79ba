package main

import (
	"strings"
	"testing"
)

func TestParseRefsReadsJobsElementsAndSets(t *testing.T) {
	refs, err := parseRefs([]string{"7", "8_0,9", "12_[1-3,8-10:2]"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range refs {
		got = append(got, refText(ref))
	}
	want := "7 8_0 9 12_1 12_2 12_3 12_8 12_10"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseRefsRefusesTheRest(t *testing.T) {
	for _, text := range []string{"0", "-1", "x", "7_", "7_x", "7_-1", "7_[", "7_[]", "7_[3-1]", "7_[1-3%2]", "x_[1]", "7_[1", "7.batch", "18446744073709551616"} {
		if refs, err := parseRefs([]string{text}); err == nil {
			t.Errorf("parseRefs(%q) = %v, want an error", text, refs)
		}
	}
}
