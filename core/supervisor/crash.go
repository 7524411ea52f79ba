package supervisor

import (
	"bufio"
	"io"
	"os"
	"strings"
	"time"
)

// A headline is cut to this; the whole text is on the child's standard error.
const maxHeadlineBytes = 1 << 10

// crashWait is how long the parent waits for the crash text after the child has ended,
// should somebody else hold the pipe open.
const crashWait = time.Second

// crashReader takes what a child writes while it crashes, so that it never blocks on the
// pipe, and keeps the first paragraph: in Go that is the reason.
type crashReader struct {
	pipe  *os.File
	first chan string // receives the first paragraph when the pipe ends
}

func readCrash(pipe *os.File) *crashReader {
	r := &crashReader{pipe: pipe, first: make(chan string, 1)}
	go func() {
		defer pipe.Close()
		buffered := bufio.NewReader(pipe)
		paragraph := firstParagraph(buffered)
		_, _ = io.Copy(io.Discard, buffered)
		r.first <- paragraph
	}()
	return r
}

// headline returns the reason of the crash in one line, "" if there was none. Call it
// when the child has ended.
func (r *crashReader) headline() string {
	select {
	case line := <-r.first:
		return line
	case <-time.After(crashWait):
		r.pipe.Close() // ends the reading goroutine
		return <-r.first
	}
}

// firstParagraph joins the lines up to the first empty one.
func firstParagraph(text *bufio.Reader) string {
	var lines []string
	for size := 0; size < maxHeadlineBytes; {
		line, isPrefix, err := text.ReadLine()
		if err != nil || len(line) == 0 && size > 0 {
			break
		}
		if len(line) > 0 {
			lines = append(lines, strings.TrimSpace(string(line)))
		}
		size += len(line)
		if isPrefix {
			break
		}
	}
	headline := strings.Join(nameReason(lines), "; ")
	return strings.ToValidUTF8(headline[:min(len(headline), maxHeadlineBytes)], "?")
}

// nameReason says in words what the crash text lacks: the runtime writes the reason of a
// panic and of a signal to the crash output, but the first line of a fatal error (a
// deadlock, memory that ran out, racing map writes) only to standard error.
func nameReason(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	for _, reason := range []string{"panic: ", "[signal ", "SIG"} {
		if strings.HasPrefix(lines[0], reason) {
			return lines
		}
	}
	where := lines[:min(2, len(lines))]
	return append([]string{"fatal error of the Go runtime, which standard error names"}, where...)
}
