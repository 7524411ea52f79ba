package main

import (
	"testing"
	"time"
)

func TestDurationsAreWrittenAsSqueueAndSacctDo(t *testing.T) {
	for _, c := range []struct {
		d           time.Duration
		short, long string
	}{
		{0, "0:00", "00:00:00"},
		{5*time.Second + 999*time.Millisecond, "0:05", "00:00:05"},
		{62 * time.Second, "1:02", "00:01:02"},
		{time.Hour + 2*time.Minute + 3*time.Second, "1:02:03", "01:02:03"},
		{2*day + 3*time.Hour + 4*time.Minute + 5*time.Second, "2-03:04:05", "2-03:04:05"},
		{-time.Minute, "0:00", "00:00:00"},
	} {
		if got := shortDuration(c.d); got != c.short {
			t.Errorf("shortDuration(%v) = %q, want %q", c.d, got, c.short)
		}
		if got := longDuration(c.d); got != c.long {
			t.Errorf("longDuration(%v) = %q, want %q", c.d, got, c.long)
		}
	}
}

func TestParsePointReadsWhatSacctDoes(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.FixedZone("east", 3600))
	at := func(month time.Month, day, hour, minute, second int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, 0, now.Location())
	}
	for text, want := range map[string]time.Time{
		"now":                  now,
		"today":                at(12, 1, 0, 0, 0),
		"now-90":               now.Add(-90 * time.Second),
		"now-2hours":           now.Add(-2 * time.Hour),
		"now-1day":             now.Add(-day),
		"now-2weeks":           now.Add(-14 * day),
		"2026-11-30":           at(11, 30, 0, 0, 0),
		"2026-11-30T10:05":     at(11, 30, 10, 5, 0),
		"2026-11-30T10:05:06":  at(11, 30, 10, 5, 6),
		"2026-11-30 10:05:06":  at(11, 30, 10, 5, 6),
		"2026-11-30T10:05:06Z": time.Date(2026, 11, 30, 10, 5, 6, 0, time.UTC),
		"10:05":                at(12, 1, 10, 5, 0),
		"10:05:06":             at(12, 1, 10, 5, 6),
	} {
		got, err := parsePoint(text, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("parsePoint(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParsePointRefusesTheRest(t *testing.T) {
	for _, text := range []string{"", "yesterday", "now-", "now-2fortnights", "now-99999999999", "now-2147483647weeks", "2026-13-01", "25:00"} {
		if got, err := parsePoint(text, testNow); err == nil {
			t.Errorf("parsePoint(%q) = %v, want an error", text, got)
		}
	}
}
