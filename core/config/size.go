package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// The units that a size is written in.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

var sizeUnits = []struct {
	suffix string
	bytes  Size
}{
	{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1},
}

// ParseSize reads a whole number with a unit: "512B", "64KiB", "256MiB", "1GiB". A
// number without a unit is refused: nobody can tell whether 256 meant MiB.
func ParseSize(text string) (Size, error) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || n > uint64(math.MaxInt64/unit.bytes) {
			return 0, fmt.Errorf("%.80q is not a size such as \"256MiB\"", text)
		}
		return Size(n) * unit.bytes, nil
	}
	return 0, fmt.Errorf("%.80q is not a size: write a whole number and a unit, such as \"256MiB\" or \"1GiB\"", text)
}

// String writes the size in its largest whole unit, as ParseSize reads it.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if s >= unit.bytes && s%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", s/unit.bytes, unit.suffix)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}
