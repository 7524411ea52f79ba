package abi

import (
	"errors"
	"strconv"
	"strings"
)

// malformed makes an error of a sentence in which each # stands for a number. Package
// fmt would make every guest half as large again.
func malformed(sentence string, numbers ...int) error {
	var text strings.Builder
	for i := range len(sentence) {
		if sentence[i] == '#' && len(numbers) > 0 {
			text.WriteString(strconv.Itoa(numbers[0]))
			numbers = numbers[1:]
			continue
		}
		text.WriteByte(sentence[i])
	}
	return errors.New(text.String())
}
