package sdktest

import (
	"math/rand/v2"
	"time"

	"github.com/rowelhq/rowel/sdk/abi"
)

// Synthetic returns a busy cluster to measure with, the same for equal arguments: nodes
// of 64 CPUs in three sizes of memory, of which load, from 0 to 1, is in use by jobs of mixed
// shape and limit, and a queue of jobs of which one in twenty spans several nodes.
func Synthetic(seed uint64, nodes, jobs int, load float64) *abi.Picture {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := New()
	for range nodes {
		c.Nodes(1, 64, []uint32{128_000, 256_000, 512_000}[rng.IntN(3)])
	}
	id := uint64(1)
	for n := range nodes {
		for free := int(64*load + rng.Float64()); free > 0; id++ {
			j := synthetic(rng, id)
			j.CPUs = min(j.CPUs, uint32(free))
			j.Memory = min(j.Memory, 1500*j.CPUs)
			c.Run(j, n)
			free -= int(j.CPUs)
		}
	}
	for range jobs {
		j := synthetic(rng, id)
		if rng.IntN(20) == 0 {
			j.Nodes = 2 + rng.Uint32N(7)
		}
		c.Queue(j)
		id++
	}
	return c.Picture()
}

func synthetic(rng *rand.Rand, id uint64) Job {
	cpus := []uint32{1, 1, 2, 4, 8, 16, 32}[rng.IntN(7)]
	return Job{
		ID: id, Priority: rng.Uint32N(1000), CPUs: cpus, Memory: cpus * (500 + 250*rng.Uint32N(8)),
		Limit: time.Duration(1+rng.IntN(48)) * 30 * time.Minute, User: string(rune('a' + rng.IntN(26))),
	}
}
