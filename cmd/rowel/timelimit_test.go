package main

import (
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

func TestParseTimeLimitReadsEveryFormOfSbatch(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90":         90 * time.Minute,
		"1:30":       90 * time.Second,
		"2:00:05":    2*time.Hour + 5*time.Second,
		"1-0":        day,
		"1-2":        26 * time.Hour,
		"1-2:30":     26*time.Hour + 30*time.Minute,
		"1-2:30:15":  26*time.Hour + 30*time.Minute + 15*time.Second,
		"0:90":       90 * time.Second,
		"0":          core.Unlimited,
		"0:00":       core.Unlimited,
		"UNLIMITED":  core.Unlimited,
		"infinite":   core.Unlimited,
		"3650-0":     core.MaxTimeLimit,
		"0-00:00:01": time.Second,
	} {
		got, err := parseTimeLimit(text)
		if err != nil || got != want {
			t.Errorf("parseTimeLimit(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseTimeLimitRefusesTheRest(t *testing.T) {
	for _, text := range []string{
		"", "-5", "-1-0", "1.5", "1h", "1:2:3:4", "1-", "1-2:3:4:5", ":", "1:", ":1", "1-2-3", " 5", "5 ", "+5",
		"3650-0:0:1", "99999999999999999999", "18446744073709551615", "9223372036854775807-0", "NaN",
	} {
		if got, err := parseTimeLimit(text); err == nil {
			t.Errorf("parseTimeLimit(%q) = %v, want an error", text, got)
		}
	}
}

func FuzzParseTimeLimit(f *testing.F) {
	for _, seed := range []string{"90", "1:30", "1-2:30:15", "UNLIMITED", "-5", "3650-0", "9223372036854775807", "1-:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := parseTimeLimit(text)
		if err != nil {
			return
		}
		if limit < 0 || limit > core.MaxTimeLimit || limit%time.Second != 0 {
			t.Fatalf("parseTimeLimit(%q) = %v", text, limit)
		}
		if again, err := parseTimeLimit(limitText(limit)); err != nil || again != limit {
			t.Fatalf("%q is %v, written %q, read as %v, %v", text, limit, limitText(limit), again, err)
		}
	})
}
