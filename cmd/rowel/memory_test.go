package main

import (
	"testing"

	"github.com/rowelhq/rowel/core"
)

func TestParseMemoryReadsUnitsAndRoundsUp(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "512": 512, "512M": 512, "512MB": 512, "2g": 2048, "1T": 1 << 20, "1024K": 1, "1K": 1, "1025K": 2, "4096T": core.MaxMemoryMiB,
	} {
		got, err := parseMemory(text)
		if err != nil || got != want {
			t.Errorf("parseMemory(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseMemoryRefusesTheRest(t *testing.T) {
	for _, text := range []string{"", "G", "-1", "1.5G", "1GG", "1X", "1B", "B", " 1", "4097T", "18446744073709551615", "9223372036854775807T"} {
		if got, err := parseMemory(text); err == nil {
			t.Errorf("parseMemory(%q) = %d, want an error", text, got)
		}
	}
}

func TestMemoryTextKeepsTheAmountWhole(t *testing.T) {
	for mib, want := range map[uint64]string{0: "0", 512: "512M", 1024: "1G", 1536: "1536M", 262144: "256G", 1 << 20: "1T"} {
		if got := memoryText(mib); got != want {
			t.Errorf("memoryText(%d) = %q, want %q", mib, got, want)
		}
	}
}
