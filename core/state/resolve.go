package state

import (
	"github.com/hashicorp/go-memdb"

	"github.com/rowelhq/rowel/core"
)

// resolve finds the records that a reference names in a transaction with nothing staged.
// An array's own ID names the whole array, also when its record has become that of the
// last element, and when that one is forgotten already while others are not.
func resolve(txn *memdb.Txn, ref core.JobRef) ([]*core.Job, error) {
	if ref.Index != nil {
		job, err := resolveElement(txn, ref.ID, *ref.Index)
		if err != nil {
			return nil, err
		}
		return []*core.Job{job}, nil
	}
	job := first[core.Job](txn, tableJobs, indexID, idKey(ref.ID))
	if job != nil && job.ArrayID != ref.ID {
		return []*core.Job{job}, nil
	}
	jobs := collect[core.Job](txn, tableJobs, indexArray, idKey(ref.ID))
	if len(jobs) == 0 {
		return nil, core.Errorf(core.NotFound, "job %d does not exist, or ended so long ago that only history has it", ref.ID)
	}
	return jobs, nil
}

func resolveElement(txn *memdb.Txn, array core.JobID, index uint32) (*core.Job, error) {
	if element := first[core.Job](txn, tableJobs, indexArray, elementKey(array, index)); element != nil {
		return element, nil
	}
	master := first[core.Job](txn, tableJobs, indexArray, masterKey(array))
	if master != nil && master.ArrayPending.Contains(index) {
		return master, nil
	}
	job := first[core.Job](txn, tableJobs, indexID, idKey(array))
	if job != nil && job.ArrayID != array {
		return nil, core.Errorf(core.NotFound, "job %d is no array and has no element %d", array, index)
	}
	return nil, core.Errorf(core.NotFound, "job %d_%d does not exist, or ended so long ago that only history has it", array, index)
}
