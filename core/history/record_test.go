package history

import (
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
)

// FuzzDecodeRecord feeds what a damaged disk could hold: it must give an error or a job
// that encodes to a record again.
func FuzzDecodeRecord(f *testing.F) {
	spec := core.JobSpec{Name: "j", User: "ada", Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1}
	job := &core.Job{ID: 7, Attempt: 2, Spec: &spec, State: core.JobFailed, EndedAt: time.Unix(1_800_000_000, 0)}
	key := recordKey(job.ID, job.Attempt)
	value, err := encodeRecord(key, job)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key, value)
	f.Add(key, value[:5])
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		job, err := decodeRecord(key, value)
		if err != nil {
			return
		}
		again, err := encodeRecord(key, job)
		if err != nil {
			t.Fatalf("a record that was read cannot be written: %v", err)
		}
		if _, err := decodeRecord(key, again); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRecordUnderAnothersKeyIsRefused(t *testing.T) {
	spec := core.JobSpec{Name: "j"}
	value, err := encodeRecord(recordKey(1, 1), &core.Job{ID: 1, Attempt: 1, Spec: &spec, State: core.JobFailed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeRecord(recordKey(2, 1), value); err == nil {
		t.Error("the record of job 1 was read as that of job 2")
	}
}

func TestEndedKeysSortAsTimeDoes(t *testing.T) {
	moments := []time.Time{{}, time.Unix(0, 0), time.Unix(1, 0), time.Unix(1_800_000_000, 5), time.Unix(1_800_000_001, 0)}
	for i := 1; i < len(moments); i++ {
		if earlier, later := endedPrefix(moments[i-1]), endedPrefix(moments[i]); string(earlier) > string(later) {
			t.Errorf("%v sorts after %v", moments[i-1], moments[i])
		}
	}
}
