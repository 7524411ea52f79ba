package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rowelhq/rowel/core"
)

// record is what the spool knows of one attempt. Its file has a JSON line for each step
// in the attempt's life, appended as it is taken, so that whatever moment the agent
// died at, the lines before it hold.
type record struct {
	begun   recordBegun
	process *recordProcess  // nil: not known to have been started
	end     *core.JobReport // nil: not over
}

// recordLine is one line: exactly one field is set. What a newer agent adds is ignored.
type recordLine struct {
	Begun   *recordBegun   `json:"begun,omitempty"`
	Process *recordProcess `json:"process,omitempty"`
	End     *recordEnd     `json:"end,omitempty"`
}

type recordBegun struct {
	Job     uint64 `json:"job"`
	Attempt uint32 `json:"attempt"`
}

// recordProcess names the session's leader beyond doubt: numbers are used again, within
// a boot and after the next.
type recordProcess struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

type recordEnd struct {
	State    core.JobState `json:"state"`
	Reason   core.Reason   `json:"reason,omitempty"`
	Message  string        `json:"message,omitempty"`
	ExitCode int32         `json:"exit_code,omitempty"`
	Signal   int32         `json:"signal,omitempty"`
}

func (l recordLine) encode() ([]byte, error) {
	line, err := json.Marshal(l)
	return append(line, '\n'), err
}

// decodeRecord reads the record of an attempt. A last line without its newline was cut
// short by the agent's death and is left out; any other line that makes no sense, or a
// missing first one, is an error, and the caller keeps the file.
func decodeRecord(key jobKey, data []byte) (record, error) {
	var r record
	begun := false
	for number := 1; len(data) > 0; number++ {
		text, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			break
		}
		data = rest
		var line recordLine
		if err := json.Unmarshal(text, &line); err != nil {
			return record{}, fmt.Errorf("line %d: %w", number, err)
		}
		switch {
		case line.Begun != nil:
			r.begun, begun = *line.Begun, true
		case line.Process != nil:
			r.process = line.Process
		case line.End != nil:
			if !line.End.State.Terminal() {
				return record{}, fmt.Errorf("line %d: %s is not an end", number, line.End.State)
			}
			r.end = line.End.report(key)
		}
	}
	if !begun {
		return record{}, fmt.Errorf("%d bytes and no whole first line", len(data))
	}
	if r.begun != (recordBegun{Job: uint64(key.id), Attempt: key.attempt}) {
		return record{}, fmt.Errorf("it is about %d.%d", r.begun.Job, r.begun.Attempt)
	}
	return r, nil
}

func endLine(r core.JobReport) recordLine {
	return recordLine{End: &recordEnd{
		State: r.State, Reason: r.Reason, Message: r.Message, ExitCode: r.ExitCode, Signal: r.Signal,
	}}
}

func (e *recordEnd) report(key jobKey) *core.JobReport {
	return &core.JobReport{
		Job: key.id, Attempt: key.attempt,
		State: e.State, Reason: e.Reason, Message: e.Message, ExitCode: e.ExitCode, Signal: e.Signal,
	}
}
