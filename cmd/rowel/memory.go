package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowelhq/rowel/core"
)

// parseMemory reads an amount of memory as sbatch --mem does, "512", "512M", "16G",
// "1T", "65536K", and returns MiB, rounded up. Without a unit it is MiB.
func parseMemory(text string) (uint64, error) {
	bad := func(what string) error {
		return fmt.Errorf("%.80q %s: write a whole number and K, M, G or T (M if none)", text, what)
	}
	upper := strings.TrimSuffix(strings.ToUpper(text), "B")
	digits := strings.TrimRight(upper, "KMGT")
	kib, ok := map[string]uint64{"K": 1, "": 1 << 10, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[upper[len(digits):]]
	if !ok || strings.HasSuffix(strings.ToUpper(text), "B") && upper == digits {
		return 0, bad("has no unit of memory that is known")
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, bad("is not an amount of memory")
	}
	if n > core.MaxMemoryMiB<<10/kib {
		return 0, bad(fmt.Sprintf("is more than %d MiB", uint64(core.MaxMemoryMiB)))
	}
	return (n*kib + 1<<10 - 1) >> 10, nil
}

// memoryText writes MiB in the largest unit that keeps it whole, as sbatch reads it.
func memoryText(mib uint64) string {
	switch {
	case mib == 0:
		return "0"
	case mib%(1<<20) == 0:
		return strconv.FormatUint(mib>>20, 10) + "T"
	case mib%(1<<10) == 0:
		return strconv.FormatUint(mib>>10, 10) + "G"
	}
	return strconv.FormatUint(mib, 10) + "M"
}
