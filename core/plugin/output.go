package plugin

import (
	"path"
	"strings"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/rowelhq/rowel/sdk/abi"
)

// The bounds of what a guest may say in one call.
const (
	maxTail     = 4 << 10 // bytes of standard output and error that are kept, the last ones
	maxLogLines = 100
	maxLogBytes = 64 << 10
	maxLogLine  = 1 << 10
)

// output takes what a guest says in one call. Only the call's goroutine uses it.
type output struct {
	log  hclog.Logger
	tank *tank
	tail []byte

	lines, bytes, dropped int
}

// reset begins a new call.
func (o *output) reset() { o.tail, o.lines, o.bytes, o.dropped = o.tail[:0], 0, 0, 0 }

// Write takes standard output and error, which are kept only to explain a fault.
func (o *output) Write(p []byte) (int, error) {
	if len(p) >= maxTail {
		o.tail = append(o.tail[:0], p[len(p)-maxTail:]...)
		return len(p), nil
	}
	if over := len(o.tail) + len(p) - maxTail; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	o.tail = append(o.tail, p...)
	return len(p), nil
}

// printer is the guest's standard output and error. One call of fd_write may bring
// millions of pieces: the deadline holds between them too.
type printer struct{ *output }

func (p printer) Write(b []byte) (int, error) {
	p.tank.check()
	return p.output.Write(b)
}

// logLine passes a line on, within the bounds.
func (o *output) logLine(level int32, line []byte) {
	line = line[:min(len(line), maxLogLine)]
	if o.lines == maxLogLines || o.bytes+len(line) > maxLogBytes {
		o.dropped++
		return
	}
	o.lines++
	o.bytes += len(line)
	o.log.Log(hclogLevel(level), "policy says", "text", printable(string(line)))
}

// finish ends a call: what was dropped is said once.
func (o *output) finish() {
	if o.dropped > 0 {
		o.log.Warn("policy says too much", "dropped_lines", o.dropped)
	}
}

func hclogLevel(level int32) hclog.Level {
	switch level {
	case abi.LogDebug:
		return hclog.Debug
	case abi.LogWarn:
		return hclog.Warn
	case abi.LogError:
		return hclog.Error
	}
	return hclog.Info
}

// words finds in the tail what a dying Go guest said and where: "panic: boom at main.go:7".
// Of other guests it is the last line.
func (o *output) words() string {
	tail := strings.TrimSpace(string(o.tail))
	start := max(strings.LastIndex(tail, "panic: "), strings.LastIndex(tail, "fatal error: "))
	if start < 0 {
		return printable(shorten(tail[strings.LastIndexByte(tail, '\n')+1:]))
	}
	lines := strings.Split(tail[start:], "\n")
	said := printable(shorten(lines[0]))
	for i := 1; i+1 < len(lines); i++ {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if !strings.HasPrefix(lines[i+1], "\t") || strings.HasPrefix(function, "panic(") || strings.HasPrefix(function, "runtime.") {
			continue
		}
		place, _, _ = strings.Cut(place, " ")
		return said + " at " + printable(shorten(path.Base(place)))
	}
	return said
}

// printable keeps a guest from writing control characters into the log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
