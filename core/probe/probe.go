package probe

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Word is an answer: OK, or the one reason why not.
type Word string

// The words. Dead alone fails /livez; every word but OK fails /readyz.
const (
	OK         Word = "ok"
	Dead       Word = "dead"        // the Raft core is dead; the process is on its way out
	NoLeader   Word = "no-leader"   // nobody can take a write
	Joining    Word = "joining"     // not a member of the cluster yet
	CatchingUp Word = "catching-up" // the state machine lags behind the commit index
	Restoring  Word = "restoring"   // a snapshot is being installed
	Stalled    Word = "stalled"     // a disk or a loop does not answer
	Removed    Word = "removed"     // no longer a member of the cluster
	Stopping   Word = "stopping"    // asked to stop
)

// Endpoint is one of the two questions.
type Endpoint string

// The endpoints, as they are named in logs and metrics; their paths are these with a
// slash before.
const (
	Livez  Endpoint = "livez"
	Readyz Endpoint = "readyz"
)

// Probe holds the checks and the answers that follow from them. Its methods may be
// called from any goroutine.
type Probe struct {
	changed func(endpoint Endpoint, from, to Word)

	mu      sync.Mutex
	checks  []*Check               // guarded by mu
	answers atomic.Pointer[report] // replaced under mu, read by anybody
}

// Check is one named fact that readiness needs. Checks made first weigh most: of several
// that fail, the first gives the answer its word.
type Check struct {
	probe *Probe
	name  string
	word  Word // guarded by probe.mu
}

// New makes a probe that is live and not ready: Joining, until it has checks and all of
// them are OK. changed is called once for each change of an endpoint's word, in order;
// it must not block nor call the probe. It may be nil.
func New(changed func(endpoint Endpoint, from, to Word)) *Probe {
	if changed == nil {
		changed = func(Endpoint, Word, Word) {}
	}
	p := &Probe{changed: changed}
	p.answers.Store(answersFor(nil))
	return p
}

// Check adds a named check with its first word.
func (p *Probe) Check(name string, word Word) *Check {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &Check{probe: p, name: name, word: word}
	p.checks = append(p.checks, c)
	p.update()
	return c
}

// Set changes the check's word. Dead is final: what is set after it is ignored.
func (c *Check) Set(word Word) {
	c.probe.mu.Lock()
	defer c.probe.mu.Unlock()
	if c.word == word || c.word == Dead {
		return
	}
	c.word = word
	c.probe.update()
}

// Live returns the word of /livez: OK or Dead.
func (p *Probe) Live() Word { return p.answers.Load().live.word }

// Ready returns the word of /readyz.
func (p *Probe) Ready() Word { return p.answers.Load().ready.word }

// update publishes the answers that follow from the checks. The caller holds mu, so that
// changed hears of transitions in the order in which they happen.
func (p *Probe) update() {
	before, after := p.answers.Load(), answersFor(p.checks)
	p.answers.Store(after)
	if before.live.word != after.live.word {
		p.changed(Livez, before.live.word, after.live.word)
	}
	if before.ready.word != after.ready.word {
		p.changed(Readyz, before.ready.word, after.ready.word)
	}
}

// report is both answers, made from the checks of one moment.
type report struct{ live, ready answer }

// answer is what one endpoint says, ready to be written.
type answer struct {
	word    Word
	verbose string // a line for each check
}

func answersFor(checks []*Check) *report {
	live, ready := OK, OK
	if len(checks) == 0 {
		ready = Joining
	}
	for _, c := range checks {
		if c.word == Dead {
			live, ready = Dead, Dead
			break
		}
		if ready == OK {
			ready = c.word
		}
	}
	return &report{
		live:  answer{live, verbose(Livez, live, checks, func(w Word) bool { return w != Dead })},
		ready: answer{ready, verbose(Readyz, ready, checks, func(w Word) bool { return w == OK })},
	}
}

// verbose writes a line for each check in the form of the Kubernetes API server.
func verbose(endpoint Endpoint, word Word, checks []*Check, passes func(Word) bool) string {
	var b strings.Builder
	for _, c := range checks {
		if passes(c.word) {
			fmt.Fprintf(&b, "[+]%s ok\n", c.name)
		} else {
			fmt.Fprintf(&b, "[-]%s failed: %s\n", c.name, c.word)
		}
	}
	if word == OK {
		fmt.Fprintf(&b, "%s check passed\n", endpoint)
	} else {
		fmt.Fprintf(&b, "%s check failed: %s\n", endpoint, word)
	}
	return b.String()
}
