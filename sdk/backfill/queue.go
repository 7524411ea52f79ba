package backfill

import "github.com/rowelhq/rowel/sdk/abi"

// Queue returns the rows of the pending jobs in the order in which they are considered:
// higher priority first, then lower ID.
func Queue(p *abi.Picture) []uint32 {
	ids, priorities := p.Jobs.ID, p.Jobs.Priority
	order := make([]uint32, len(ids))
	if inOrder(ids, priorities) {
		for i := range order {
			order[i] = uint32(i)
		}
		return order
	}
	// Two stable sorts, the last by the most significant key: ID with its row, then priority.
	pairs, spare := make([]pair, len(ids)), make([]pair, len(ids))
	for i, id := range ids {
		pairs[i] = pair{first: id, second: uint64(i)}
	}
	pairs, spare = sortPairs(pairs, spare)
	for i := range pairs {
		row := pairs[i].second
		pairs[i] = pair{first: uint64(^priorities[row]), second: uint64(i)<<32 | row}
	}
	pairs, _ = sortPairs(pairs, spare)
	for i, at := range pairs {
		order[i] = uint32(at.second)
	}
	return order
}

func inOrder(ids []uint64, priorities []uint32) bool {
	for i := 1; i < len(ids); i++ {
		if priorities[i] > priorities[i-1] || priorities[i] == priorities[i-1] && ids[i] < ids[i-1] {
			return false
		}
	}
	return true
}
