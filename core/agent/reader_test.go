package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func (s *fakeStream) read(request *wire.ReadOutput, job *core.Job) {
	s.t.Helper()
	request.Job = wire.FromJob(job)
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_ReadOutput{ReadOutput: request}})
}

// chunk returns the next chunk of output.
func (s *fakeStream) chunk() *wire.OutputChunk {
	s.t.Helper()
	return s.nextThat("sends output", func(m *wire.AgentMessage) bool { return m.GetOutput() != nil }).GetOutput()
}

// rest collects chunks up to the last and returns the data and the last one's error.
func (s *fakeStream) rest(request, offset uint64) (string, string) {
	s.t.Helper()
	var data bytes.Buffer
	for {
		chunk := s.chunk()
		if chunk.GetRequest() != request || chunk.GetOffset() != offset+uint64(data.Len()) || len(chunk.GetData()) > maxChunk {
			s.t.Fatalf("chunk of request %d at %d with %d bytes does not continue request %d at %d",
				chunk.GetRequest(), chunk.GetOffset(), len(chunk.GetData()), request, offset+uint64(data.Len()))
		}
		data.Write(chunk.GetData())
		if chunk.GetDone() {
			return data.String(), chunk.GetError()
		}
	}
}

func TestReadOutputOfJobThatIsOver(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("echo hello; echo oops >&2"))
	s.report()
	tests := []struct {
		name   string
		stream wire.OutputStream
		offset uint64
		follow bool
		want   string
	}{
		{"all", wire.OutputStream_OUTPUT_STREAM_STDOUT, 0, false, "hello\n"},
		{"errors", wire.OutputStream_OUTPUT_STREAM_STDERR, 0, false, "oops\n"},
		{"from an offset", wire.OutputStream_OUTPUT_STREAM_STDOUT, 3, false, "lo\n"},
		{"beyond the end", wire.OutputStream_OUTPUT_STREAM_STDOUT, 99, false, ""},
		{"followed", wire.OutputStream_OUTPUT_STREAM_STDOUT, 0, true, "hello\n"},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			number := uint64(i + 1)
			s.read(&wire.ReadOutput{Request: number, Stream: test.stream, Offset: test.offset, Follow: test.follow}, job)
			if got, problem := s.rest(number, test.offset); got != test.want || problem != "" {
				t.Errorf("got %q, error %q, want %q", got, problem, test.want)
			}
		})
	}
}

func TestReadOutputComesInChunks(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("head -c 300000 /dev/zero"))
	s.report()
	s.read(&wire.ReadOutput{Request: 1}, job)
	if got, problem := s.rest(1, 0); len(got) != 300000 || problem != "" {
		t.Errorf("got %d bytes, error %q, want 300000", len(got), problem)
	}
}

func TestFollowEndsWithTheJob(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	job.Spec.Output = "out"
	s.launch(job, script("echo one; while ! test -e go; do sleep 0.01; done; echo two; echo three"))
	s.read(&wire.ReadOutput{Request: 1, Follow: true}, job)
	if chunk := s.chunk(); string(chunk.GetData()) != "one\n" || chunk.GetDone() {
		t.Errorf("chunk %v, want one and more to come", chunk)
	}
	makePipe(t, job.Spec.WorkDir+"/go")
	var got string
	for done := false; !done; {
		chunk := s.chunk()
		got += string(chunk.GetData())
		done = chunk.GetDone()
	}
	if got != "two\nthree\n" {
		t.Errorf("got %q, want two and three", got)
	}
}

func TestStopOutputEndsAReader(t *testing.T) {
	n, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("echo one; exec sleep 300"))
	s.read(&wire.ReadOutput{Request: 1, Follow: true}, job)
	s.chunk()
	s.tell(&wire.ControllerMessage{Kind: &wire.ControllerMessage_StopOutput{StopOutput: &wire.StopOutput{Request: 1}}})
	s.read(&wire.ReadOutput{Request: 1}, job) // the number is free again
	if got, problem := s.rest(1, 0); got != "one\n" || problem != "" {
		t.Errorf("got %q, error %q, want one", got, problem)
	}
	n.stop()
}

func TestReaderThatIsDoneLeavesItsNumberToTheNext(t *testing.T) {
	r := newReaders(nil, nil)
	old, next := &reader{}, &reader{}
	r.serving[1] = next // the leader stopped the old one and used its number again
	r.release(1, old)
	if r.serving[1] != next {
		t.Error("the old reader's end took the next one's number away")
	}
	r.release(1, next)
	if len(r.serving) != 0 {
		t.Error("a reader that is done still counts")
	}
}

func TestReadOutputSaysWhyThereIsNone(t *testing.T) {
	_, s := connected(t)
	never := testJob(t, 9)
	nowhere := testJob(t, 10)
	nowhere.Spec.Output = "/dev/null"
	tests := []struct {
		name    string
		job     *core.Job
		request *wire.ReadOutput
		want    string
	}{
		{"never ran here", never, &wire.ReadOutput{Request: 1, Follow: true}, "no output of job 9"},
		{"not a file", nowhere, &wire.ReadOutput{Request: 2}, "/dev/null is not a regular file"},
		{"absurd offset", never, &wire.ReadOutput{Request: 3, Offset: 1 << 63}, "beyond any file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.read(test.request, test.job)
			if _, problem := s.rest(test.request.GetRequest(), test.request.GetOffset()); !strings.Contains(problem, test.want) {
				t.Errorf("error %q, want one about %q", problem, test.want)
			}
		})
	}
}

func TestReadersAreBounded(t *testing.T) {
	_, s := connected(t)
	job := testJob(t, 1)
	s.launch(job, script("exec sleep 300"))
	for number := range uint64(maxReaders) {
		s.read(&wire.ReadOutput{Request: number + 1, Follow: true}, job)
	}
	s.read(&wire.ReadOutput{Request: maxReaders + 1}, job)
	if _, problem := s.rest(maxReaders+1, 0); !strings.Contains(problem, "too many readers") {
		t.Errorf("error %q, want one about too many readers", problem)
	}
}

func TestOutputDoesNotHoldUpReports(t *testing.T) {
	_, s := connected(t)
	big := testJob(t, 1)
	big.Spec.Output = "big"
	path := filepath.Join(big.Spec.WorkDir, "big")
	if err := os.WriteFile(path, make([]byte, 100<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s.read(&wire.ReadOutput{Request: 1}, big)
	s.chunk()
	s.launch(testJob(t, 2), script(""))
	for range (100 << 20) / maxChunk {
		message := s.next()
		if message.GetReports() != nil {
			return
		}
		if message.GetOutput().GetDone() {
			break
		}
	}
	t.Error("the report came after all of the output")
}
