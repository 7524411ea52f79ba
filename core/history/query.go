package history

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rowelhq/rowel/core"
)

// Filter says which records a query wants. The zero value wants all.
type Filter struct {
	IDs    []core.JobID // an array's ID names all its records
	Users  []string
	States []core.JobState
	Since  time.Time // ended at or after
	Until  time.Time // started before; what never started: ended, else submitted before
	Limit  int       // at most so many, the newest; 0: no limit
}

// Takes reports whether the filter, its Limit aside, wants job. A job that has not
// ended counts as ending later than any Since, so that live records can be matched too.
func (f *Filter) Takes(job *core.Job) bool {
	if len(f.IDs) > 0 && !slices.Contains(f.IDs, job.ID) &&
		(job.ArrayID == 0 || !slices.Contains(f.IDs, job.ArrayID)) {
		return false
	}
	if len(f.Users) > 0 && !slices.Contains(f.Users, job.Spec.User) {
		return false
	}
	if len(f.States) > 0 && !slices.Contains(f.States, job.State) {
		return false
	}
	if !f.Since.IsZero() && !job.EndedAt.IsZero() && job.EndedAt.Before(f.Since) {
		return false
	}
	began := job.StartedAt
	if began.IsZero() {
		began = job.EndedAt
	}
	if began.IsZero() {
		began = job.SubmittedAt
	}
	return f.Until.IsZero() || began.Before(f.Until)
}

// CorruptError says which records of the history's file cannot be read.
type CorruptError struct {
	Job     core.JobID // of the first of them
	Attempt uint32
	Count   int
	Cause   error // of the first
}

// Error returns the sentence for the operator.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("job history: %d records cannot be read, the first is that of job %d, attempt %d: %v", e.Count, e.Job, e.Attempt, e.Cause)
}

// Unwrap returns what is wrong with the first record.
func (e *CorruptError) Unwrap() error { return e.Cause }

// Query returns the records that the filter wants, the newest end first, and whether
// its limit cut some off. It reads the disk as of one moment and holds up no writer.
// Records asked for by ID or bounded by Since cost what they are; anything else costs a
// look at each record, newest first, until the limit is reached.
//
// A record that cannot be read is never passed over in silence: Query then returns what
// it could read together with a *CorruptError.
func (h *History) Query(filter Filter) (jobs []*core.Job, truncated bool, err error) {
	q := query{filter: filter}
	err = h.db.View(func(tx *bolt.Tx) error {
		q.jobs = tx.Bucket(bucketJobs)
		if len(filter.IDs) > 0 {
			q.byID(tx.Bucket(bucketArrays))
			return nil
		}
		q.byEnd(tx.Bucket(bucketEnded).Cursor())
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("query job history: %w", err)
	}
	if q.corrupt != nil {
		return q.found, q.truncated, q.corrupt
	}
	return q.found, q.truncated, nil
}

// query is one Query at work.
type query struct {
	filter    Filter
	jobs      *bolt.Bucket
	found     []*core.Job
	truncated bool
	corrupt   *CorruptError // nil: none was met
}

// byEnd looks from the newest end down to Since.
func (q *query) byEnd(ended *bolt.Cursor) {
	oldest := endedPrefix(q.filter.Since)
	for key, _ := ended.Last(); key != nil && bytes.Compare(key, oldest) >= 0; key, _ = ended.Prev() {
		record := key[len(oldest):]
		job := q.read(record, q.jobs.Get(record))
		if job == nil || !bytes.Equal(endedKey(job.EndedAt, record), key) || !q.filter.Takes(job) {
			continue
		}
		if q.filter.Limit > 0 && len(q.found) == q.filter.Limit {
			q.truncated = true
			return
		}
		q.found = append(q.found, job)
	}
}

// byID looks at what the filter names: jobs, and the elements of arrays.
func (q *query) byID(arrays *bolt.Bucket) {
	records := make(map[string]*core.Job)
	for _, id := range q.filter.IDs {
		prefix := idPrefix(id)
		jobs := q.jobs.Cursor()
		for key, value := jobs.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = jobs.Next() {
			records[string(key)] = q.read(key, value)
		}
		elements := arrays.Cursor()
		for key, _ := elements.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = elements.Next() {
			record := key[len(prefix):]
			if _, known := records[string(record)]; !known {
				records[string(record)] = q.read(record, q.jobs.Get(record))
			}
		}
	}
	for _, job := range records {
		if job != nil && q.filter.Takes(job) {
			q.found = append(q.found, job)
		}
	}
	slices.SortFunc(q.found, newestFirst)
	if q.filter.Limit > 0 && len(q.found) > q.filter.Limit {
		q.found, q.truncated = q.found[:q.filter.Limit], true
	}
}

// read returns the job of a record, or nil and notes that it cannot be read.
func (q *query) read(key, value []byte) *core.Job {
	job, err := decodeRecord(key, value)
	if err == nil {
		return job
	}
	if q.corrupt == nil {
		q.corrupt = &CorruptError{Cause: err}
		q.corrupt.Job, q.corrupt.Attempt = splitRecordKey(key)
	}
	q.corrupt.Count++
	return nil
}

// newestFirst orders by end, what has not ended before all, then by ID and attempt.
func newestFirst(a, b *core.Job) int {
	if a.EndedAt.IsZero() != b.EndedAt.IsZero() {
		if a.EndedAt.IsZero() {
			return -1
		}
		return 1
	}
	return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Attempt, a.Attempt))
}
