package agent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// jobKey names one attempt of a job. Its text is also a file name in the spool.
type jobKey struct {
	id      core.JobID
	attempt uint32
}

func (k jobKey) String() string {
	return strconv.FormatUint(uint64(k.id), 10) + "." + strconv.FormatUint(uint64(k.attempt), 10)
}

func (k jobKey) message() *wire.RunningJob {
	return &wire.RunningJob{Job: uint64(k.id), Attempt: k.attempt}
}

// parseJobKey reads what String writes and nothing else, so that no two names in the
// spool mean the same attempt.
func parseJobKey(text string) (jobKey, error) {
	id, attempt, _ := strings.Cut(text, ".")
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return jobKey{}, fmt.Errorf("job number in %q: %w", text, err)
	}
	run, err := strconv.ParseUint(attempt, 10, 32)
	if err != nil {
		return jobKey{}, fmt.Errorf("attempt in %q: %w", text, err)
	}
	key := jobKey{id: core.JobID(number), attempt: uint32(run)}
	if number == 0 || key.String() != text {
		return jobKey{}, fmt.Errorf("%q is not a job and an attempt", text)
	}
	return key, nil
}

func messageKey(m *wire.RunningJob) jobKey {
	return jobKey{id: core.JobID(m.GetJob()), attempt: m.GetAttempt()}
}

func reportKey(r core.JobReport) jobKey { return jobKey{id: r.Job, attempt: r.Attempt} }
