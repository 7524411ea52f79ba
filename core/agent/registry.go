package agent

import (
	"maps"
	"slices"
	"sync"

	"github.com/rowelhq/rowel/core"
)

// rememberedJobs bounds how many forgotten attempts a late or repeated launch is still
// recognised for.
const rememberedJobs = 1 << 16

// registry knows which attempts run here and which were ever taken on, so that each is
// taken on once.
type registry struct {
	mu       sync.Mutex            // guards all below
	live     map[jobKey]*job       // taken on and not over
	newest   map[core.JobID]uint32 // the highest attempt ever taken on
	past     []jobKey              // acknowledged, oldest first from pastHead on; a ring once full
	pastHead int
	closed   bool

	running sync.WaitGroup // one for each live job; grows under mu while not closed
}

func newRegistry() *registry {
	return &registry{live: map[jobKey]*job{}, newest: map[core.JobID]uint32{}}
}

// admit takes a job on, unless this or a newer attempt was taken on before or the agent
// is stopping. It returns the older attempts that still run here.
func (r *registry) admit(j *job) (older []*job, admitted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest, known := r.newest[j.key.id]
	if r.closed || known && newest >= j.key.attempt {
		return nil, false
	}
	if known {
		for key, other := range r.live {
			if key.id == j.key.id {
				older = append(older, other)
			}
		}
	}
	r.newest[j.key.id] = j.key.attempt
	r.live[j.key] = j
	r.running.Add(1)
	return older, true
}

// recall notes an attempt that an earlier agent process took on.
func (r *registry) recall(key jobKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest[key.id] = max(r.newest[key.id], key.attempt)
}

// over notes that a job runs no more.
func (r *registry) over(j *job) {
	r.mu.Lock()
	delete(r.live, j.key)
	r.mu.Unlock()
	close(j.done)
	r.running.Done()
}

// acknowledged lets an attempt fall out of memory once rememberedJobs others followed.
func (r *registry) acknowledged(key jobKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.past) < rememberedJobs {
		r.past = append(r.past, key)
		return
	}
	dropped := r.past[r.pastHead]
	r.past[r.pastHead] = key
	r.pastHead = (r.pastHead + 1) % len(r.past)
	if r.newest[dropped.id] == dropped.attempt {
		delete(r.newest, dropped.id)
	}
}

// find returns the job if it runs here, else nil.
func (r *registry) find(key jobKey) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[key]
}

// jobs returns everything that runs here.
func (r *registry) jobs() []*job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.live))
}

// close makes admit refuse everything and returns what still runs.
func (r *registry) close() []*job {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.jobs()
}
