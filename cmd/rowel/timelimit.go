package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowelhq/rowel/core"
)

const day = 24 * time.Hour

// parseTimeLimit reads a time limit as sbatch --time does: "minutes", "m:s", "h:m:s",
// "d-h", "d-h:m" or "d-h:m:s". "UNLIMITED", "INFINITE" and zero mean core.Unlimited.
// What is too long for core.MaxTimeLimit is refused here, before it can overflow.
func parseTimeLimit(text string) (time.Duration, error) {
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") {
		return core.Unlimited, nil
	}
	bad := func(what string) error {
		return fmt.Errorf("%.80q %s: write minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED", text, what)
	}
	if strings.HasPrefix(text, "-") {
		return 0, bad("is negative")
	}
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	fields := strings.Split(clock, ":")
	if len(fields) > 3 {
		return 0, bad("has too many colons")
	}
	limit, err := addUnits(0, days, day)
	if err != nil {
		return 0, bad(err.Error())
	}
	for i, unit := range clockUnits(len(fields), hasDays) {
		if limit, err = addUnits(limit, fields[i], unit); err != nil {
			return 0, bad(err.Error())
		}
	}
	return limit, nil
}

// clockUnits says what the fields between colons count. The first one is hours after
// "days-", and otherwise whatever makes the last of two or three seconds.
func clockUnits(fields int, afterDays bool) []time.Duration {
	hms := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case afterDays:
		return hms[:fields]
	case fields == 1:
		return []time.Duration{time.Minute}
	}
	return hms[3-fields:]
}

func addUnits(sum time.Duration, digits string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("is not a time limit")
	}
	if n > uint64(core.MaxTimeLimit/unit) {
		return 0, fmt.Errorf("is longer than ten years")
	}
	if sum += time.Duration(n) * unit; sum > core.MaxTimeLimit {
		return 0, fmt.Errorf("is longer than ten years")
	}
	return sum, nil
}
