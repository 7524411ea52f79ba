package plugin

import (
	"strings"
	"testing"
)

func TestLastWordsOfAGuest(t *testing.T) {
	const trace = "\n\ngoroutine 1 [running]:\npanic({0x1, 0x2})\n\truntime/panic.go:884 +0x1\nmain.f(...)\n\t./main.go:7\nmain.g()\n\t./main.go:9 +0x3\n"
	tests := map[string]struct{ tail, want string }{
		"nothing":        {"", ""},
		"a Go panic":     {"chatter\npanic: boom" + trace, "panic: boom at main.go:7"},
		"fatal error":    {"fatal error: all goroutines are asleep - deadlock!\n", "fatal error: all goroutines are asleep - deadlock!"},
		"another's":      {"one\nassertion failed\n", "assertion failed"},
		"control":        {"\x1b]0;title\x07", " ]0;title "},
		"no UTF-8":       {"\xff\xfe", "\ufffd"},
		"the last panic": {"panic: a [recovered]\n\tpanic: b" + trace, "panic: b at main.go:7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var o output
			if _, err := o.Write([]byte(test.tail)); err != nil {
				t.Fatal(err)
			}
			if got := o.words(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOnlyTheEndOfWhatAGuestPrintsIsKept(t *testing.T) {
	for _, piece := range []int{1, 100, maxTail - 1, maxTail, 3 * maxTail} {
		var o output
		all := ""
		for i := 0; len(all) < 4*maxTail; i++ {
			part := strings.Repeat(string(rune('a'+i%26)), piece)
			all += part
			if n, err := o.Write([]byte(part)); n != piece || err != nil {
				t.Fatal(n, err)
			}
		}
		if string(o.tail) != all[len(all)-maxTail:] {
			t.Errorf("pieces of %d: the tail is not the end of what was written", piece)
		}
	}
}
