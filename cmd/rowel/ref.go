package main

import (
	"strconv"
	"strings"

	"github.com/rowelhq/rowel/core"
)

// parseRef reads a job as squeue prints it: "7", or "7_3" for an element of an array.
func parseRef(text string) (core.JobRef, error) {
	idText, indexText, isElement := strings.Cut(text, "_")
	id, err := strconv.ParseUint(idText, 10, 64)
	if err != nil || id == 0 {
		return core.JobRef{}, usageErrorf("%.80q is not a job: write its number, or number_index for an element of an array", text)
	}
	ref := core.JobRef{ID: core.JobID(id)}
	if isElement {
		n, err := strconv.ParseUint(indexText, 10, 31)
		if err != nil {
			return core.JobRef{}, usageErrorf("%.80q is not an element of an array: write number_index, such as 7_3", text)
		}
		index := uint32(n)
		ref.Index = &index
	}
	return ref, nil
}

// parseRefs reads jobs as scancel does: also "7_[1-3,5]", and several by commas.
func parseRefs(texts []string) ([]core.JobRef, error) {
	var refs []core.JobRef
	for _, text := range texts {
		idText, set, isSet := strings.Cut(text, "_[")
		if !isSet {
			for _, item := range splitList(text) {
				ref, err := parseRef(item)
				if err != nil {
					return nil, err
				}
				refs = append(refs, ref)
			}
			continue
		}
		array, err := core.ParseArray(strings.TrimSuffix(set, "]"))
		if err != nil || !strings.HasSuffix(set, "]") || array.MaxAtOnce > 0 {
			return nil, usageErrorf("%.80q is not a set of elements: write it as 7_[1-3,5]", text)
		}
		ref, err := parseRef(idText)
		if err != nil {
			return nil, err
		}
		for index := range indices(array.Indices) {
			element := index
			refs = append(refs, core.JobRef{ID: ref.ID, Index: &element})
		}
	}
	return refs, nil
}

// indices yields each index of a set in order.
func indices(set core.IndexSet) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for _, r := range set.Ranges() {
			for index := uint64(r.First); index <= uint64(r.Last); index += uint64(r.Step) {
				if !yield(uint32(index)) {
					return
				}
			}
		}
	}
}

// parseIDs reads whole jobs, by commas.
func parseIDs(texts []string) ([]core.JobID, error) {
	var ids []core.JobID
	for _, text := range texts {
		ref, err := parseRef(text)
		if err != nil {
			return nil, err
		}
		if ref.Index != nil {
			return nil, usageErrorf("%q is an element of an array: give the array, %d", text, ref.ID)
		}
		ids = append(ids, ref.ID)
	}
	return ids, nil
}

// parseStates reads names or codes of states; "all" gives every state.
func parseStates(texts []string) ([]core.JobState, error) {
	var states []core.JobState
	for _, text := range texts {
		if strings.EqualFold(text, "all") {
			states = states[:0]
			for s := core.JobPending; s <= core.JobBootFail; s++ {
				states = append(states, s)
			}
			return states, nil
		}
		s, err := core.ParseJobState(text)
		if err != nil {
			return nil, usageErrorf("--states: %w", err)
		}
		states = append(states, s)
	}
	return states, nil
}

// refText writes a reference as it was typed.
func refText(ref core.JobRef) string {
	if ref.Index == nil {
		return ref.ID.String()
	}
	return ref.ID.String() + "_" + strconv.FormatUint(uint64(*ref.Index), 10)
}

// refOf returns the reference that names one record of a job.
func refOf(j *core.Job) core.JobRef {
	if j.ArrayID == 0 || j.ArrayMaster() {
		return core.JobRef{ID: j.PayloadID()}
	}
	index := j.ArrayIndex
	return core.JobRef{ID: j.ArrayID, Index: &index}
}
