package state

import "unicode/utf8"

// Bounds on text that comes with commands and stays in records.
const (
	maxMessageBytes = 1 << 10
	maxReasonBytes  = 64
)

// shorten returns the longest beginning of valid UTF-8 text that fits in limit bytes and
// cuts no character.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
