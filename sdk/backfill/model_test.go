package backfill_test

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
	"github.com/rowelhq/rowel/sdk/backfill"
	"github.com/rowelhq/rowel/sdk/sdktest"
)

var seedFlag = flag.Uint64("seed", 0, "run the random tests with this seed only")

// eachPicture runs the check on random small pictures, each a subject of its own seed.
func eachPicture(t *testing.T, check func(t *testing.T, p *abi.Picture)) {
	t.Helper()
	first, count := rand.Uint64(), uint64(3000)
	if *seedFlag != 0 {
		first, count = *seedFlag, 1
	}
	for seed := first; seed < first+count; seed++ {
		check(t, randomPicture(seed))
		if t.Failed() {
			t.Fatalf("run again with -seed %d", seed)
		}
	}
}

func randomPicture(seed uint64) *abi.Picture {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := sdktest.New()
	nodes := 1 + rng.IntN(9)
	limit := func() time.Duration { return time.Duration(rng.IntN(6)) * time.Hour } // 0: none
	for n := range nodes {
		c.Nodes(1, 1+rng.Uint32N(8), rng.Uint32N(8)*100).Weigh(n, rng.Uint32N(2))
	}
	p := c.Picture()
	for n := range nodes {
		for id := range uint64(rng.IntN(3)) {
			free, memory := p.Nodes.CPUsFree[n], p.Nodes.MemoryFree[n]
			if free > 0 {
				c.Run(job{ID: 1000 + id, CPUs: 1 + rng.Uint32N(free), Memory: rng.Uint32N(memory + 1), Limit: limit()}, n)
			}
			p = c.Picture()
		}
	}
	for range rng.IntN(30) {
		j := job{
			ID: 1 + rng.Uint64N(40), Priority: rng.Uint32N(3), Nodes: 1 + rng.Uint32N(3), CPUs: 1 + rng.Uint32N(5),
			Memory: rng.Uint32N(4) * 100, Limit: limit(), Count: 1 + rng.Uint32N(2),
		}
		if rng.IntN(3) == 0 {
			j.On = rng.Perm(nodes)[:rng.IntN(nodes+1)]
		}
		c.Queue(j)
	}
	return c.Picture()
}

func TestEASYAgreesWithThePlainModel(t *testing.T) {
	eachPicture(t, func(t *testing.T, p *abi.Picture) {
		got, want := sdk.Run(backfill.EASY, p), sdk.Run(plainEASY, p)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the plan differs from the model's (-want +got):\n%s", diff)
		}
	})
}

func TestEASYNeverProposesWhatTheCoreRefuses(t *testing.T) {
	eachPicture(t, func(t *testing.T, p *abi.Picture) {
		if err := sdktest.Check(p, sdk.Run(backfill.EASY, p)); err != nil {
			t.Error(err)
		}
	})
}

func TestEASYNeverDelaysTheReservedJob(t *testing.T) {
	eachPicture(t, func(t *testing.T, p *abi.Picture) {
		plan := sdk.Run(backfill.EASY, p)
		i := slices.IndexFunc(plan.Proposals, func(r abi.Proposal) bool { return r.Kind == abi.Reserve })
		if i < 0 {
			return
		}
		reserved := plan.Proposals[i]
		// Let everything run to its limit: what is held on each node just after the reserved time?
		cpus, memory := slices.Clone(p.Nodes.CPUs), slices.Clone(p.Nodes.Memory)
		for r := range p.Running.Len() {
			if p.Running.End[r] > reserved.At {
				cpus[p.Running.Node[r]] -= p.Running.CPUs[r]
				memory[p.Running.Node[r]] -= p.Running.Memory[r]
			}
		}
		for _, start := range plan.Proposals {
			j := start.Job
			if start.Kind != abi.Start || p.Jobs.Limit[j] != abi.NoLimit && p.Now+int64(p.Jobs.Limit[j])*1000 <= reserved.At {
				continue
			}
			for _, n := range plan.NodesOf(start) {
				cpus[n] -= p.Jobs.CPUs[j]
				memory[n] -= p.Jobs.Memory[j]
			}
		}
		for _, n := range plan.NodesOf(reserved) {
			if cpus[n] < p.Jobs.CPUs[reserved.Job] || memory[n] < p.Jobs.Memory[reserved.Job] {
				t.Errorf("node %d has %d CPUs and %d MiB at the reserved time", n, cpus[n], memory[n])
			}
		}
	})
}

// plainEASY is EASY written to be read: no index, nothing remembered.
func plainEASY(c *sdk.Cycle) {
	jobs := make([]uint32, c.Jobs.Len())
	for i := range jobs {
		jobs[i] = uint32(i)
	}
	slices.SortStableFunc(jobs, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.Jobs.Priority[b], c.Jobs.Priority[a]), cmp.Compare(c.Jobs.ID[a], c.Jobs.ID[b]))
	})
	m := model{Cycle: c}
	for r := range c.Running.Len() {
		m.held = append(m.held, holding{c.Running.Node[r], c.Running.CPUs[r], c.Running.Memory[r], max(c.Running.End[r], c.Now), false})
	}
	for _, j := range jobs {
		for c.Left(j) > 0 {
			on := m.choose(j, c.Free, m.mayUse(j))
			if on == nil {
				m.wait(j)
				break
			}
			c.Start(j, on...)
			for _, n := range on {
				m.held = append(m.held, holding{n, c.Jobs.CPUs[j], c.Jobs.Memory[j], m.end(j), m.reserved})
			}
		}
	}
}

type holding struct {
	node, cpus, memory uint32
	end                int64
	behind             bool // started after the reservation was made
}

type model struct {
	*sdk.Cycle
	held []holding

	reserved   bool
	job        uint32
	shadow     int64
	reservedOn []uint32
}

func (m *model) end(j uint32) int64 {
	if m.Jobs.Limit[j] == abi.NoLimit {
		return abi.Never
	}
	return m.Now + int64(m.Jobs.Limit[j])*1000
}

// mayUse returns whether job j may be put on node n as far as the reservation goes.
func (m *model) mayUse(j uint32) func(n uint32) bool {
	return func(n uint32) bool {
		if !m.reserved || m.end(j) <= m.shadow && m.Jobs.Limit[j] != abi.NoLimit || !slices.Contains(m.reservedOn, n) {
			return true
		}
		at := m.freeAt(m.shadow)
		return at.CPUs[n] >= m.Jobs.CPUs[m.job]+m.Jobs.CPUs[j] && at.Memory[n] >= m.Jobs.Memory[m.job]+m.Jobs.Memory[j]
	}
}

// freeAt returns what is free at that time if every job runs to its limit. One without limit that
// was started behind the reservation does not end, even if the reserved time is never.
func (m *model) freeAt(at int64) sdk.Free {
	free := sdk.Free{CPUs: slices.Clone(m.Free.CPUs), Memory: slices.Clone(m.Free.Memory)}
	for _, h := range m.held {
		if h.end <= at && !(h.behind && h.end == abi.Never) {
			free.CPUs[h.node] += h.cpus
			free.Memory[h.node] += h.memory
		}
	}
	return free
}

func (m *model) choose(j uint32, free sdk.Free, allowed func(uint32) bool) []uint32 {
	var fit []uint32
	for n := range uint32(m.Nodes.Len()) {
		if m.Set(m.Jobs.Set[j])[n/64]>>(n%64)&1 != 0 && allowed(n) &&
			free.CPUs[n] >= m.Jobs.CPUs[j] && free.Memory[n] >= m.Jobs.Memory[j] {
			fit = append(fit, n)
		}
	}
	if len(fit) < int(m.Jobs.Nodes[j]) {
		return nil
	}
	slices.SortStableFunc(fit, func(a, b uint32) int {
		return cmp.Or(
			cmp.Compare(free.CPUs[a], free.CPUs[b]), cmp.Compare(free.Memory[a], free.Memory[b]),
			cmp.Compare(m.Nodes.Weight[a], m.Nodes.Weight[b]),
		)
	})
	return fit[:m.Jobs.Nodes[j]]
}

func (m *model) wait(j uint32) {
	if m.reserved {
		m.Skip(j, abi.BecausePriority)
		return
	}
	ends := []int64{}
	for _, h := range m.held {
		ends = append(ends, h.end)
	}
	slices.Sort(ends)
	for _, end := range ends {
		on := m.choose(j, m.freeAt(end), func(uint32) bool { return true })
		if on == nil {
			continue
		}
		m.reserved, m.job, m.shadow, m.reservedOn = true, j, end, on
		if end != abi.Never {
			m.Reserve(j, end, on...)
			return
		}
		break
	}
	m.Skip(j, abi.BecauseResources)
}
