package test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
	"github.com/rowelhq/rowel/core/wire"
)

// seedJobs is how many jobs the controller had queued that was scaled up into a second
// cluster, which lost them all.
const seedJobs = 55

// holding is what a cluster must never lose: who it is and what it has acknowledged.
type holding struct {
	cluster string
	jobs    []core.JobID
}

// queue has the controllers at these indexes take in jobs and returns what they hold now.
func (w *wired) queue(through int, n int) holding {
	w.t.Helper()
	client := w.clientOf(through)
	held := holding{cluster: w.status(through).GetClusterId()}
	for i := range n {
		submitted, err := client.Submit(w.t.Context(), api.NewRequestKey(), []core.Submission{w.script(fmt.Sprintf("queued-%d", i), "")})
		if err != nil {
			w.t.Fatalf("submit through %s: %v", w.replicas[through].name, err)
		}
		held.jobs = append(held.jobs, submitted.Jobs...)
	}
	return held
}

// clientOf returns a client that knows one controller.
func (w *wired) clientOf(i int) *api.Client {
	w.t.Helper()
	client, err := api.NewClient([]string{w.replicas[i].api}, 10*time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

// status is what a controller says of itself.
func (w *wired) status(i int) *wire.StatusResponse {
	w.t.Helper()
	status, err := w.clientOf(i).Status(w.t.Context())
	if err != nil {
		w.t.Fatalf("status of %s: %v", w.replicas[i].name, err)
	}
	return status
}

// checkHolds makes sure that a controller still serves all that the cluster held, as the
// same cluster, and that the next job gets an ID that no other one had.
func (w *wired) checkHolds(i int, held *holding) {
	w.t.Helper()
	r, client := w.replicas[i], w.clientOf(i)
	if got := w.status(i).GetClusterId(); got != held.cluster {
		w.t.Errorf("%s is of cluster %s, was of %s", r.name, got, held.cluster)
	}
	submitted, err := client.Submit(w.t.Context(), api.NewRequestKey(), []core.Submission{w.script("another", "")})
	if err != nil {
		w.t.Fatalf("submit through %s: %v", r.name, err)
	}
	if next := submitted.Jobs[0]; slices.Contains(held.jobs, next) {
		w.t.Errorf("%s gave ID %d to a second job", r.name, next)
	}
	held.jobs = append(held.jobs, submitted.Jobs...)
	jobs, err := client.Jobs(w.t.Context(), api.JobFilter{All: true})
	if err != nil {
		w.t.Fatalf("jobs of %s: %v", r.name, err)
	}
	var got []core.JobID
	for _, job := range jobs {
		got = append(got, job.ID)
	}
	slices.Sort(got)
	if !slices.Equal(got, held.jobs) {
		w.t.Errorf("%s has the jobs %v, want %v", r.name, got, held.jobs)
	}
}

// checkWaits waits until a controller that belongs to no cluster says why, and makes
// sure that it takes part in nothing and takes nothing in.
func (w *wired) checkWaits(i int, why string) {
	w.t.Helper()
	r := w.replicas[i]
	eventually(w.t, 30*time.Second, fmt.Sprintf("%s says that it waits: %s", r.name, why), func() bool {
		return strings.Contains(strings.Join(w.status(i).GetWarnings(), "\n"), why)
	})
	w.awaitWord(i, "joining")
	if !strings.Contains(r.log.String(), why) {
		w.t.Errorf("the log of %s does not say why it waits: %s", r.name, why)
	}
	if status := w.status(i); status.GetClusterId() != "" || status.GetRole() == "leader" {
		w.t.Errorf("%s is %s of cluster %q, want a member of none", r.name, status.GetRole(), status.GetClusterId())
	}
	for _, never := range []string{"formed cluster", "leading=true"} {
		if strings.Contains(r.log.String(), never) {
			w.t.Errorf("the log of %s has %q", r.name, never)
		}
	}
	client, err := api.NewClient([]string{r.api}, time.Nanosecond)
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Submit(w.t.Context(), api.NewRequestKey(), []core.Submission{w.script("lost", "")}); core.KindOf(err) != core.Unavailable {
		w.t.Errorf("%s answered a submission with %v, want unavailable", r.name, err)
	}
}

// stop ends a controller as an operator does.
func (w *wired) stop(i int) {
	w.t.Helper()
	if code := w.replicas[i].stop(); code != core.ExitOK {
		w.t.Fatalf("%s exited %d on SIGTERM", w.replicas[i].name, code)
	}
}

// wipe removes the data of a controller that does not run.
func (w *wired) wipe(i int) {
	w.t.Helper()
	w.replicas[i].log.reset() // what the server before it said is not this one's
	if err := os.RemoveAll(w.replicas[i].data); err != nil {
		w.t.Fatal(err)
	}
}

// never makes sure that something does not happen for a time in which it would.
func (w *wired) never(what string, happens func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*time.Second) // several elections
	defer cancel()
	for waitFor(ctx, 50*time.Millisecond) {
		if happens() {
			w.t.Errorf("%s", what)
			return
		}
	}
}

// newSeed returns three machines: on the first one controller that was a cluster of its
// own and has jobs queued, on the others nothing; all stopped, and all configured as a
// cluster of three.
func newSeed(t *testing.T) (*wired, *holding) {
	t.Helper()
	w := newWired(t, 3)
	w.configure(0)
	w.start(0)
	w.awaitReady(0)
	held := w.queue(0, seedJobs)
	w.stop(0)
	for i := range w.replicas {
		w.configure(i, w.all()...)
	}
	return w, &held
}

// TestEmptyReplicasNeverFormAClusterBesideOne replays the incident that Rowel exists
// for: a controller with queued jobs is scaled up to three, in every order of starting.
func TestEmptyReplicasNeverFormAClusterBesideOne(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			w, held := newSeed(t)
			for _, i := range order {
				w.start(i)
				if i == 0 {
					w.awaitReady(0)
				} else {
					w.awaitWord(i, "joining")
				}
			}
			w.checkWaits(1, held.cluster)
			w.checkWaits(2, held.cluster)
			w.checkHolds(0, held)
			for _, i := range order { // and again, with what the others know now
				w.stop(i)
				w.start(i)
			}
			w.awaitReady(0)
			w.checkWaits(1, held.cluster)
			w.checkWaits(2, held.cluster)
			w.checkHolds(0, held)
		})
	}
}

// TestEmptyReplicasWaitForTheOneThatIsLate has each of the three start when the others
// have long looked for it.
func TestEmptyReplicasWaitForTheOneThatIsLate(t *testing.T) {
	for late := range 3 {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			w, held := newSeed(t)
			for i := range w.replicas {
				if i != late {
					w.start(i)
				}
			}
			for i := range w.replicas {
				switch {
				case i == late:
				case i == 0:
					w.awaitReady(0)
				case late == 0:
					w.checkWaits(i, w.replicas[late].raft)
				default:
					w.checkWaits(i, held.cluster)
				}
			}
			w.start(late)
			w.awaitReady(0)
			w.checkWaits(1, held.cluster)
			w.checkWaits(2, held.cluster)
			w.checkHolds(0, held)
		})
	}
}

// TestEmptyReplicasWaitForTheOneTheyCannotReach runs all three with one of them cut off,
// one way or both, and heals the network later.
func TestEmptyReplicasWaitForTheOneTheyCannotReach(t *testing.T) {
	for name, cut := range map[string]func(*network){
		"the one with jobs":      func(n *network) { n.isolate(0) },
		"an empty one":           func(n *network) { n.isolate(1) },
		"each from both":         func(n *network) { n.isolate(0); n.isolate(1) },
		"answers are lost":       func(n *network) { n.set(0, 1, quality{cut: true}); n.set(0, 2, quality{cut: true}) },
		"over a slow, bad line":  func(n *network) { n.around(0, quality{delay: 200 * time.Millisecond, loss: 0.2}) },
		"one empty one sees all": func(n *network) { n.between(0, 1, quality{cut: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			w, held := newSeed(t)
			cut(w.net)
			for i := range w.replicas {
				w.start(i)
			}
			w.awaitReady(0)
			w.checkWaits(1, "")
			w.checkWaits(2, "")
			w.never("an empty replica formed a cluster", func() bool {
				return w.status(1).GetClusterId()+w.status(2).GetClusterId() != ""
			})
			w.checkHolds(0, held)
			w.net.heal()
			w.checkWaits(1, held.cluster)
			w.checkWaits(2, held.cluster)
			w.checkHolds(0, held)
		})
	}
}

// TestClustersThatMeetStayTwo gives two clusters of one the peer list of a pair.
func TestClustersThatMeetStayTwo(t *testing.T) {
	w := newWired(t, 2)
	var held [2]holding
	for i := range held {
		w.configure(i)
		w.start(i)
		w.awaitReady(i)
		held[i] = w.queue(i, 5+i)
		w.stop(i)
		w.configure(i, 0, 1)
	}
	for i := range held {
		w.start(i)
	}
	for i := range held {
		w.awaitReady(i)
		w.checkHolds(i, &held[i])
	}
	if held[0].cluster == held[1].cluster {
		t.Errorf("both are cluster %s", held[0].cluster)
	}
}

// TestServerOfAnotherClusterIsKeptOut exchanges a replica of one cluster of three for
// one of another cluster, each at the address of the other.
func TestServerOfAnotherClusterIsKeptOut(t *testing.T) {
	w := newWired(t, 6)
	trios := [2][]int{{0, 1, 2}, {3, 4, 5}}
	var held [2]holding
	for n, trio := range trios {
		for _, i := range trio {
			w.configure(i, trio...)
			w.start(i)
		}
		w.awaitReady(trio...)
		held[n] = w.queue(trio[0], 5+n)
	}
	w.stop(2)
	w.stop(5)
	a, b := w.replicas[2], w.replicas[5]
	a.name, b.name, a.data, b.data, a.api, b.api = b.name, a.name, b.data, a.data, b.api, a.api
	a.process, b.process = nil, nil // they get other configurations
	w.configure(2, trios[0]...)
	w.configure(5, trios[1]...)
	w.start(2)
	w.start(5)
	for n, trio := range trios {
		stranger := w.replicas[trio[2]]
		eventually(t, 30*time.Second, stranger.name+" refuses the leader of the cluster in whose place it is", func() bool {
			return strings.Contains(stranger.log.String(), "cluster_id="+held[n].cluster)
		})
		w.awaitReady(trio[0], trio[1])
		w.checkHolds(trio[0], &held[n])
	}
	w.never("the replica of another cluster became ready", func() bool { return w.readyz(2) == "ok" || w.readyz(5) == "ok" })
	if a, b := w.status(2).GetClusterId(), w.status(5).GetClusterId(); a != held[1].cluster || b != held[0].cluster {
		t.Errorf("the exchanged replicas are of %s and %s, want %s and %s", a, b, held[1].cluster, held[0].cluster)
	}
}

// newTrio returns a cluster of three that holds jobs.
func newTrio(t *testing.T) (*wired, *holding) {
	t.Helper()
	w := newWiredCluster(t, 3)
	held := w.queue(0, 20)
	return w, &held
}

// TestWipedReplicaNeverVotes empties one of three: it waits and says what to do, and
// when another one fails it does not help the last one to a majority.
func TestWipedReplicaNeverVotes(t *testing.T) {
	w, held := newTrio(t)
	wiped := (w.leads() + 1) % 3
	other, last := (wiped+1)%3, (wiped+2)%3
	w.stop(wiped)
	w.wipe(wiped)
	w.start(wiped)
	w.checkWaits(wiped, held.cluster)
	w.checkWaits(wiped, "add it there as a member")
	w.checkHolds(other, held)

	w.replicas[other].kill()
	w.awaitWord(last, "no-leader")
	w.never("a wiped replica's vote made a leader", func() bool { return w.replicas[last].leads() })
	w.checkWaits(wiped, "")
	w.start(other)
	w.awaitReady(other, last)
	w.checkHolds(last, held)
	w.checkWaits(wiped, held.cluster)
}

// TestTwoWipedReplicasInventNothing empties two of three: without their disks nobody can
// know what was acknowledged, so that nobody goes on.
func TestTwoWipedReplicasInventNothing(t *testing.T) {
	w, held := newTrio(t)
	logged := w.status(0).GetLastIndex()
	for i := range w.replicas {
		w.stop(i)
	}
	w.wipe(1)
	w.wipe(2)
	w.start(1)
	w.start(2)
	w.checkWaits(1, w.replicas[0].raft)
	w.checkWaits(2, w.replicas[0].raft)
	w.never("two wiped replicas formed a cluster", func() bool { return w.status(1).GetClusterId()+w.status(2).GetClusterId() != "" })
	w.start(0)
	w.checkWaits(1, held.cluster)
	w.checkWaits(2, held.cluster)
	w.awaitWord(0, "no-leader")
	w.never("one of three leads without a majority", func() bool { return w.leads() >= 0 })
	if got := w.status(0).GetClusterId(); got != held.cluster {
		t.Errorf("the replica with state is of cluster %q, was of %s", got, held.cluster)
	}
	// What was committed of its log it cannot know alone, so it serves none of it, and
	// keeps all of it.
	if got := w.status(0).GetLastIndex(); got < logged {
		t.Errorf("the log of the replica with state ends at %d, ended at %d", got, logged)
	}
}

// TestClonedDataDirectoryIsRefused starts a copy of one replica's data in the place of
// another one.
func TestClonedDataDirectoryIsRefused(t *testing.T) {
	w, held := newTrio(t)
	leader := w.leads()
	original, clone := (leader+1)%3, (leader+2)%3
	w.stop(original)
	w.stop(clone)
	w.wipe(clone)
	if err := os.CopyFS(w.replicas[clone].data, os.DirFS(w.replicas[original].data)); err != nil {
		t.Fatal(err)
	}
	w.start(original)
	w.awaitReady(leader, original)
	w.start(clone)
	if code := w.replicas[clone].wait(10 * time.Second); code != core.ExitCannotOpen {
		t.Errorf("the clone exited %d, want %d", code, core.ExitCannotOpen)
	}
	if want := fmt.Sprintf("belongs to server %q", w.replicas[original].name); !strings.Contains(w.replicas[clone].log.String(), want) {
		t.Errorf("the clone does not say %q:\n%s", want, w.replicas[clone].log.tail(3))
	}
	w.checkHolds(leader, held)
}
