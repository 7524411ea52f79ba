package backfill

import (
	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/abi"
)

// EASY schedules one cycle. Jobs are taken in Queue's order and start on the nodes that
// fit best. The first that does not fit gets a reservation where and when it will, if
// every job runs to its limit; a job behind it starts only if it ends before that time
// or leaves the reserved nodes what the reservation needs. A job that no amount of
// waiting would make fit holds nobody up. Every job that does not start is given a reason.
func EASY(c *sdk.Cycle) {
	order := Queue(c.Picture)
	if c.Nodes.Len() == 0 {
		for _, job := range order {
			c.Skip(job, abi.BecauseResources)
		}
		return
	}
	s := newScheduler(c)
	for _, job := range order {
		s.consider(job)
	}
}

// scheduler is the state of one cycle.
type scheduler struct {
	c        *sdk.Cycle
	nodes    index
	place    reservation
	releases []release

	unmet      failures // requests that what is free cannot meet
	unmetSpare failures // nor what is free and not reserved
	impossible failures // nor the whole set with every job ended

	last   cursor
	picked []uint32
}

// cursor remembers where the search for a request ended: entries before it do not fit,
// so the next equal request, which in a queue is often the next job, starts there.
type cursor struct {
	request
	spare bool
	at    pair
}

func newScheduler(c *sdk.Cycle) *scheduler {
	sets := len(c.Sets) / c.SetWords()
	s := &scheduler{
		c: c, nodes: newIndex(c), picked: make([]uint32, 0, 64),
		unmet: newFailures(sets), unmetSpare: newFailures(sets), impossible: newFailures(sets),
	}
	running := &c.Running
	s.releases = make([]release, running.Len(), running.Len()+c.Nodes.Len())
	for i := range s.releases {
		s.releases[i] = release{
			end: max(running.End[i], c.Now), node: running.Node[i],
			cpus: running.CPUs[i], memory: running.Memory[i],
		}
	}
	return s
}

func (s *scheduler) consider(job uint32) {
	jobs := &s.c.Jobs
	r := request{set: jobs.Set[job], nodes: jobs.Nodes[job], cpus: jobs.CPUs[job], memory: jobs.Memory[job]}
	if r.nodes == 0 { // no such job is let in; it would look like a request that everything covers
		s.c.Skip(job, abi.BecauseResources)
		return
	}
	outlasts := s.place.outlasts(s.c.Now, jobs.Limit[job])
	for s.c.Left(job) > 0 {
		if !s.find(r, outlasts) || !s.start(job, r, outlasts) {
			break
		}
	}
	if s.c.Left(job) > 0 {
		s.wait(job, r)
	}
}

// find puts the best-fitting nodes for the request into s.picked. With spare set, it
// leaves alone what the reservation needs.
func (s *scheduler) find(r request, spare bool) bool {
	if s.unmet.cover(r) || spare && s.unmetSpare.cover(r) {
		return false
	}
	start := pair{first: uint64(r.cpus)<<32 | uint64(r.memory)}
	if s.last.request == r && s.last.spare == spare && start.less(s.last.at) {
		start = s.last.at
	}
	entries := s.nodes.entries[s.nodes.from(start):]
	set, memory, cpus := s.c.Set(r.set), r.memory, r.cpus
	spareCPUs, spareMemory := s.place.spareCPUs, s.place.spareMemory
	s.picked = s.picked[:0]
	for i := range entries {
		if uint32(entries[i].first) < memory {
			continue
		}
		n := uint32(entries[i].second)
		if set[n/64]>>(n%64)&1 == 0 || spare && (spareCPUs[n] < cpus || spareMemory[n] < memory) {
			continue
		}
		if len(s.picked) == 0 {
			s.last = cursor{request: r, spare: spare, at: entries[i]}
		}
		s.picked = append(s.picked, n)
		if len(s.picked) == int(r.nodes) {
			return true
		}
	}
	if spare {
		s.unmetSpare.add(r)
	} else {
		s.unmet.add(r)
	}
	return false
}

// start proposes the job on the picked nodes and books what it takes.
func (s *scheduler) start(job uint32, r request, spare bool) bool {
	if !s.c.Start(job, s.picked...) {
		return false
	}
	end := endOf(s.c.Now, s.c.Jobs.Limit[job])
	for _, n := range s.picked {
		cpus, memory := s.c.Free.CPUs[n], s.c.Free.Memory[n]
		moved := s.nodes.shrink(n, cpus+r.cpus, memory+r.memory, cpus, memory)
		if moved.less(s.last.at) {
			s.last.at = moved
		}
		if spare {
			s.place.take(n, r.cpus, r.memory)
		}
		if !s.place.made {
			s.releases = append(s.releases, release{end: end, node: n, cpus: r.cpus, memory: r.memory})
		}
	}
	return true
}

// wait gives the job its reason, and the first that could start later its reservation.
func (s *scheduler) wait(job uint32, r request) {
	if s.place.made {
		s.c.Skip(job, abi.BecausePriority)
		return
	}
	if !s.impossible.cover(r) {
		s.place = forecast(r, s.c.Set(r.set), s.c.Free.CPUs, s.c.Free.Memory, s.c.Nodes.Weight, s.releases)
		if !s.place.made {
			s.impossible.add(r)
		}
	}
	if s.place.made && s.place.shadow != abi.Never {
		s.c.Reserve(job, s.place.shadow, s.place.nodes...)
		return
	}
	s.c.Skip(job, abi.BecauseResources)
}
