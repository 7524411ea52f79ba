package agent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowelhq/rowel/core"
)

// noArrayIndex is what Slurm writes for %a in a job that is no element of an array.
const noArrayIndex = 1<<32 - 2

// maxPatternWidth is the widest zero padding, as in %10j; Slurm's own bound.
const maxPatternWidth = 10

// expandPattern replaces, as sbatch does in --output: %j (job number), %A (number of
// the array, or of the job), %a (index in the array), %x (job name), %u (user), %N
// (node) and %%. A number between % and a letter pads digits with zeros: %4j. What is
// not a pattern stays as it is.
func expandPattern(pattern string, job *core.Job, node string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		end := i + 1
		for end < len(pattern) && pattern[end] >= '0' && pattern[end] <= '9' {
			end++
		}
		if end == len(pattern) {
			out.WriteString(pattern[i:])
			break
		}
		width, _ := strconv.Atoi(pattern[i+1 : end]) // no digits or too many: 0 or the bound
		if text, ok := patternValue(pattern[end], min(width, maxPatternWidth), job, node); ok {
			out.WriteString(text)
		} else {
			out.WriteString(pattern[i : end+1])
		}
		i = end
	}
	return out.String()
}

func patternValue(letter byte, width int, job *core.Job, node string) (string, bool) {
	number := func(n uint64) (string, bool) { return fmt.Sprintf("%0*d", width, n), true }
	switch letter {
	case 'j':
		return number(uint64(job.ID))
	case 'A':
		return number(uint64(job.PayloadID()))
	case 'a':
		if job.ArrayID == 0 {
			return number(noArrayIndex)
		}
		return number(uint64(job.ArrayIndex))
	case 'x':
		return job.Spec.Name, true
	case 'u':
		return job.Spec.User, true
	case 'N':
		return node, true
	case '%':
		return "%", true
	}
	return "", false
}
