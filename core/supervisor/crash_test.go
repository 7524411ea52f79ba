package supervisor

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

func TestFirstParagraphIsTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"panic: one\n\ngoroutine 1 [running]:": "panic: one",
		"panic: nil pointer\n[signal SIGSEGV: code=1]\n\ngoroutine 5:": "panic: nil pointer; [signal SIGSEGV: code=1]",
		"SIGABRT: abort\nPC=0x1\n\ngoroutine":                          "SIGABRT: abort; PC=0x1",
		"\ngoroutine 3 [running]:\nmain.write()\n\t/x.go:3":            "fatal error of the Go runtime, which standard error names; goroutine 3 [running]:; main.write()",
		"panic: \xff": "panic: ?",
	} {
		if got := firstParagraph(bufio.NewReader(strings.NewReader(text))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFirstParagraphIsBounded(t *testing.T) {
	for _, text := range []string{
		"panic: " + strings.Repeat("x", 1<<20),
		"panic: x\n" + strings.Repeat("frame\n", 1<<16),
	} {
		if got := firstParagraph(bufio.NewReader(strings.NewReader(text))); len(got) > maxHeadlineBytes {
			t.Errorf("headline of %d bytes", len(got))
		}
	}
}

func TestHeadlineDoesNotWaitForWhoHoldsThePipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close() // open all the while, as by a grandchild that inherited it
	if _, err := writer.WriteString("panic: one\n\ngoroutine 1"); err != nil {
		t.Fatal(err)
	}
	if got := readCrash(reader).headline(); got != "panic: one" {
		t.Errorf("got %q", got)
	}
}
