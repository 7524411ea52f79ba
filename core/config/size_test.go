package config_test

import (
	"testing"

	"github.com/rowelhq/rowel/core/config"
)

func TestSizeReadsWhatItWrites(t *testing.T) {
	for text, want := range map[string]config.Size{
		"0B": 0, "512B": 512, "64KiB": 64 * config.KiB, "256MiB": 256 * config.MiB, "3GiB": 3 * config.GiB, "2TiB": 2 * config.TiB,
	} {
		got, err := config.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%d is written %q, want %q", got, got, text)
		}
	}
}

func TestParseSizeRefusesWhatIsNotASize(t *testing.T) {
	for _, text := range []string{"", "256", "256MB", "256M", "-1MiB", "1.5GiB", "MiB", "0x10KiB", "9999999TiB", "99999999999999999999B"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}
