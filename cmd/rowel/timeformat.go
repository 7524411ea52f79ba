package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowelhq/rowel/core"
)

// clock gives the time; commands that show how long something took are given one.
type clock func() time.Time

// shortDuration writes a duration as squeue does: "0:05", "1:02:03", "2-03:04:05".
func shortDuration(d time.Duration) string {
	days, hours, minutes, seconds := splitDuration(d)
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, hours, minutes, seconds)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}

// longDuration writes a duration as sacct does: "00:00:05", "2-03:04:05".
func longDuration(d time.Duration) string {
	days, hours, minutes, seconds := splitDuration(d)
	if days > 0 {
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, hours, minutes, seconds)
	}
	return fmt.Sprintf("%02d:%02d:%02d", hours, minutes, seconds)
}

func splitDuration(d time.Duration) (days, hours, minutes, seconds int64) {
	s := int64(max(d, 0) / time.Second)
	return s / 86400, s / 3600 % 24, s / 60 % 60, s % 60
}

// limitText writes a time limit as scontrol does.
func limitText(d time.Duration) string {
	if d == core.Unlimited {
		return "UNLIMITED"
	}
	return longDuration(d)
}

// localTime writes a time as sacct does, in the local zone; what has not happened is
// "Unknown".
func localTime(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// elapsed returns how long a job has held its nodes, zero if it never has.
func elapsed(j *core.Job, now time.Time) time.Duration {
	switch {
	case j.StartedAt.IsZero():
		return 0
	case j.EndedAt.IsZero():
		return max(now.Sub(j.StartedAt), 0)
	}
	return max(j.EndedAt.Sub(j.StartedAt), 0)
}

// pointLayouts are the ways to write a point in time that name a date.
var pointLayouts = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006-01-02 15:04:05", "2006-01-02 15:04",
}

// parsePoint reads a point in time as sacct --starttime does: a date with or without a
// time of day, a time of day today, "now", "today", or "now-2hours". Without a zone it
// is in now's.
func parsePoint(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	}
	if ago, ok := strings.CutPrefix(text, "now-"); ok {
		if d, ok := parseAgo(ago); ok {
			return now.Add(-d), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range pointLayouts {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location()), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.80q is no point in time: write 2006-01-02, 2006-01-02T15:04:05, 15:04, today or now-2hours", text)
}

// parseAgo reads "90", "90seconds", "5minutes", "2hours", "3days", "1week".
func parseAgo(text string) (time.Duration, bool) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0, false
	}
	units := map[string]time.Duration{
		"": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "week": 7 * day,
	}
	unit, ok := units[strings.TrimSuffix(text[len(digits):], "s")]
	if !ok || time.Duration(n) > 100*365*day/unit {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
