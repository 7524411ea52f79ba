package test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// target is a job that clients submit under one request key.
type target struct {
	name, key string
	id        atomic.Uint64 // once a client has heard it
	calls     atomic.Int32  // that were answered
}

// stage is the small set of jobs that all clients work on at a time. After some calls a
// job makes room for the next one.
type stage struct {
	mu    sync.Mutex
	slots []*target // guarded by mu
	all   []*target // guarded by mu
}

const (
	stageSlots    = 4
	callsEach     = 40 // on one job
	torture       = "ROWEL_TORTURE"
	callPatience  = 3 * time.Second
	retryPatience = 2 * time.Second
)

func newStage() *stage {
	s := &stage{}
	for i := range stageSlots {
		s.slots = append(s.slots, nil)
		s.renew(i)
	}
	return s
}

// renew puts a new job in a slot. The caller holds mu, or is alone.
func (s *stage) renew(slot int) {
	job := &target{name: fmt.Sprintf("job-%d", len(s.all)), key: api.NewRequestKey()}
	s.slots[slot] = job
	s.all = append(s.all, job)
}

// pick returns one job to work on and all those on the stage.
func (s *stage) pick(random *rand.Rand) (*target, []*target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := random.IntN(len(s.slots))
	if s.slots[slot].calls.Load() >= callsEach {
		s.renew(slot)
	}
	return s.slots[slot], append([]*target(nil), s.slots...)
}

func (s *stage) everything() []*target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*target(nil), s.all...)
}

// actor is one client at work.
type actor struct {
	number  int
	w       *wired
	client  *api.Client
	alone   bool // each call is sent once, to one controller
	random  *rand.Rand
	stage   *stage
	history *history
}

// actors makes two clients for each controller that know it alone and send each call
// once, and three that know all and repeat their calls.
func (w *wired) actors(random *rand.Rand, s *stage, h *history) []*actor {
	w.t.Helper()
	var all []*actor
	add := func(patience time.Duration, addresses ...string) {
		client, err := api.NewClient(addresses, patience)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(client.Close)
		all = append(all, &actor{
			number: len(all), w: w, client: client, alone: len(addresses) == 1,
			random: rand.New(rand.NewPCG(random.Uint64(), 0)), stage: s, history: h,
		})
	}
	for _, address := range w.addresses() {
		add(time.Nanosecond, address)
		add(time.Nanosecond, address)
		add(retryPatience, w.addresses()...)
	}
	return all
}

// work makes calls until ctx is done. It is slower after one without an answer.
func (a *actor) work(ctx context.Context) {
	pause := 8
	for waitFor(ctx, time.Duration(1+a.random.IntN(pause))*time.Millisecond) {
		job, all := a.stage.pick(a.random)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
		dice, act := a.random.IntN(100), a.submit
		switch known := job.id.Load() != 0; {
		case dice < 15, !known && dice < 70:
		case dice < 50 && known:
			act = a.get
		case dice < 54 && known:
			act = a.cancel
		default:
			act = func(ctx context.Context, _ *target) bool { return a.list(ctx, all) }
		}
		pause = 200
		if act(call, job) {
			job.calls.Add(1)
			pause = 8
		}
		cancel()
	}
}

// maybe reports whether an error leaves open what happened. Every other one is a defect:
// nothing that these clients ask for can be refused.
//
// It takes Unavailable for "maybe" although its contract says "not done": a client that
// has given up says Unavailable whatever its tries were answered, and a connection that
// broke half way is Unavailable too.
func (a *actor) maybe(what string, err error) bool {
	switch core.KindOf(err) {
	case core.Unknown, core.Unavailable, core.NotLeader, core.Exhausted:
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	a.w.t.Errorf("client %d, %s: %v", a.number, what, err)
	return false
}

// submit and the other calls record what was heard and report whether that was an answer.
func (a *actor) submit(ctx context.Context, job *target) bool {
	called := a.history.now()
	submitted, err := a.client.Submit(ctx, job.key, []core.Submission{a.w.script(job.name, "")})
	heard := answer{unknown: err != nil}
	if err != nil && !a.maybe("submit "+job.name, err) {
		return false
	}
	if err == nil {
		heard = answer{id: submitted.Jobs[0], duplicate: submitted.Duplicate}
		job.id.Store(uint64(heard.id))
	}
	a.history.add(a.number, called, []action{{submitJob, job, a.alone}}, []answer{heard})
	return !heard.unknown
}

func (a *actor) cancel(ctx context.Context, job *target) bool {
	id := core.JobID(job.id.Load())
	called := a.history.now()
	outcomes, err := a.client.Cancel(ctx, []core.JobRef{{ID: id}})
	heard := answer{unknown: err != nil, id: id}
	switch {
	case err != nil && !a.maybe("cancel "+job.name, err):
		return false
	case err == nil && outcomes[0] != nil:
		a.w.t.Errorf("cancel of acknowledged job %d: %v", id, outcomes[0])
		heard.id = 0
	}
	a.history.add(a.number, called, []action{{cancelJob, job, a.alone}}, []answer{heard})
	return !heard.unknown
}

func (a *actor) get(ctx context.Context, job *target) bool {
	id := core.JobID(job.id.Load())
	called := a.history.now()
	jobs, _, err := a.client.Job(ctx, core.JobRef{ID: id}, false)
	heard := answer{}
	switch {
	case core.KindOf(err) == core.NotFound:
		a.w.t.Errorf("get acknowledged job %d: %v", id, err)
	case err != nil:
		a.maybe("get "+job.name, err)
		return false // a read without an answer changes nothing and tells nothing
	default:
		heard = answer{id: jobs[0].ID, state: jobs[0].State}
	}
	a.history.add(a.number, called, []action{{getJob, job, a.alone}}, []answer{heard})
	return !heard.unknown
}

// list reads all jobs that are not over: one moment's answer for every job on the stage.
func (a *actor) list(ctx context.Context, targets []*target) bool {
	called := a.history.now()
	jobs, err := a.client.Jobs(ctx, api.JobFilter{})
	if err != nil {
		a.maybe("list", err)
		return false
	}
	a.history.add(a.number, called, a.each(listJobs, targets), answersOf(jobs, targets))
	return true
}

func (a *actor) each(kind actionKind, targets []*target) []action {
	var actions []action
	for _, job := range targets {
		actions = append(actions, action{kind, job, a.alone})
	}
	return actions
}

// answersOf finds the targets in a list of jobs.
func answersOf(jobs []*core.Job, targets []*target) []answer {
	byName := make(map[string]*core.Job)
	for _, job := range jobs {
		byName[job.Spec.Name] = job
	}
	answers := make([]answer, len(targets))
	for i, wanted := range targets {
		if job := byName[wanted.name]; job != nil {
			answers[i] = answer{id: job.ID, state: job.State}
		}
	}
	return answers
}

// TestHistoriesAreLinearizable has clients submit, cancel and read while the network and
// the processes of three controllers fail, and looks for an order of single steps that
// explains everything that every client heard. ROWEL_TORTURE=1, or the number of rounds
// of faults, makes it long.
func TestHistoriesAreLinearizable(t *testing.T) {
	runs, rounds := 2, 1
	if asked := os.Getenv(torture); asked != "" {
		n, _ := strconv.Atoi(asked)
		runs, rounds = 5, max(10, n)
	}
	for run := range runs {
		t.Run(fmt.Sprintf("run %d", run+1), func(t *testing.T) {
			random := seeded(t)
			w := newWiredCluster(t, 3)
			h, s := &history{began: time.Now()}, newStage()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var group sync.WaitGroup
			for _, a := range w.actors(random, s, h) {
				group.Go(func() { a.work(ctx) })
			}
			(&nemesis{t, w, random}).run(ctx, rounds)
			w.awaitReady(w.all()...)
			stop()
			group.Wait()
			w.readEverything(h, s)
			w.checkIDs(h)
			h.check(t)
			if h.answered < 1000 {
				t.Errorf("%d calls were answered: too few to show anything", h.answered)
			}
		})
	}
}

// readEverything reads the jobs of the healed cluster through each controller: every
// job is there once, and none that nobody asked for.
func (w *wired) readEverything(h *history, s *stage) {
	w.t.Helper()
	targets := s.everything()
	known := make(map[string]bool)
	for _, job := range targets {
		known[job.name] = true
	}
	for i, r := range w.replicas {
		client, err := api.NewClient([]string{r.api}, 20*time.Second)
		if err != nil {
			w.t.Fatal(err)
		}
		called := h.now()
		jobs, err := client.Jobs(w.t.Context(), api.JobFilter{All: true})
		client.Close()
		if err != nil {
			w.t.Fatalf("read through %s at the end: %v", r.name, err)
		}
		seen := make(map[string]core.JobID)
		for _, job := range jobs {
			if other, twice := seen[job.Spec.Name]; twice {
				w.t.Errorf("%s was queued twice, as %d and %d", job.Spec.Name, other, job.ID)
			}
			if !known[job.Spec.Name] {
				w.t.Errorf("job %d, %s: nobody submitted it", job.ID, job.Spec.Name)
			}
			seen[job.Spec.Name] = job.ID
		}
		reader := &actor{number: 100 + i}
		h.add(reader.number, called, reader.each(listAll, targets), answersOf(jobs, targets))
	}
	w.awaitAgreement()
}

// awaitAgreement waits until every controller has the same jobs by itself: a replica
// that has diverged for good never does.
func (w *wired) awaitAgreement() {
	w.t.Helper()
	own := func(r *replica) string {
		client, err := api.NewClient([]string{r.api}, time.Second)
		if err != nil {
			w.t.Fatal(err)
		}
		defer client.Close()
		jobs, err := client.Jobs(w.t.Context(), api.JobFilter{All: true, Stale: true})
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for _, job := range jobs {
			fmt.Fprintln(&b, job.ID, job.Spec.Name, job.State, job.SubmittedAt.UnixNano(), job.EndedAt.UnixNano())
		}
		return b.String()
	}
	eventually(w.t, 20*time.Second, "all controllers have the same jobs", func() bool {
		first := own(w.replicas[0])
		return first == own(w.replicas[1]) && first == own(w.replicas[2])
	})
}

// checkIDs makes sure that no ID names two jobs, and that a job that was submitted after
// another one was acknowledged has the higher ID.
func (w *wired) checkIDs(h *history) {
	w.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	type span struct {
		called, returned int64 // of the first submission and of the first acknowledgement
		id               core.JobID
	}
	spans, owners := make(map[*target]*span), make(map[core.JobID]*target)
	for _, op := range h.ops {
		in, out := op.Input.(action), op.Output.(answer)
		if owner := owners[out.id]; out.id != 0 && owner != nil && owner != in.target {
			w.t.Errorf("job ID %d was given to %s and to %s", out.id, owner.name, in.target.name)
		}
		if out.id != 0 {
			owners[out.id] = in.target
		}
		if in.kind != submitJob {
			continue
		}
		known := spans[in.target]
		if known == nil {
			known = &span{called: op.Call, returned: op.Return}
			spans[in.target] = known
		}
		known.called, known.returned = min(known.called, op.Call), min(known.returned, op.Return)
		known.id = max(known.id, out.id)
	}
	for a, first := range spans {
		for b, later := range spans {
			if first.id != 0 && later.id != 0 && first.returned < later.called && first.id > later.id {
				w.t.Errorf("%s got ID %d, and %s, submitted after that, ID %d", a.name, first.id, b.name, later.id)
			}
		}
	}
	w.t.Logf("%d jobs, %d IDs", len(spans), len(owners))
}
