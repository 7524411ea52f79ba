package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core/api"
)

// wired is a cluster whose controllers are alone on their machines as far as the network
// goes. Clients reach each of them over its Unix socket whatever the network does, and
// the controllers reach each other over the network only.
type wired struct {
	*cluster
	net *network
}

// newWired lays out n controllers that are not configured yet.
func newWired(t testing.TB, n int) *wired {
	t.Helper()
	dir, err := os.MkdirTemp("", "rowel-") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &wired{cluster: &cluster{t: t, dir: dir}, net: newNetwork(t, n)}
	for i, h := range w.net.hosts {
		r := &replica{name: fmt.Sprintf("ctl-%d", i+1), raft: h.at(6821), probes: h.at(6823)}
		r.data = filepath.Join(dir, r.name)
		r.api = "unix:" + filepath.Join(r.data, "rowel.sock")
		w.replicas = append(w.replicas, r)
	}
	w.client, err = api.NewClient(w.addresses(), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	return w
}

// newWiredCluster starts n controllers as one cluster.
func newWiredCluster(t testing.TB, n int) *wired {
	t.Helper()
	w := newWired(t, n)
	for i := range w.replicas {
		w.configure(i, w.all()...)
		w.start(i)
	}
	w.awaitReady(w.all()...)
	return w
}

func (w *wired) all() []int {
	var all []int
	for i := range w.replicas {
		all = append(all, i)
	}
	return all
}

// configure writes the configuration of a controller with these as its peers: none for a
// cluster of one.
func (w *wired) configure(i int, peers ...int) {
	w.t.Helper()
	r, h := w.replicas[i], w.net.hosts[i]
	raft := fmt.Sprintf("raft {\n  listen = %q\n", r.raft)
	if len(peers) > 0 {
		var addresses []string
		for _, p := range peers {
			addresses = append(addresses, w.replicas[p].raft)
		}
		raft += fmt.Sprintf("  peers = %s\n", hclList(addresses))
	}
	text := fmt.Sprintf("name = %q\ndata_dir = %q\ninsecure = true\napi { listen = %q }\nprobes { listen = %q }\nmetrics { enabled = false }\n%s}\n",
		r.name, r.data, h.at(6817), r.probes, raft)
	r.config = writeFile(w.t, w.dir, r.name+".hcl", text, 0o644)
}

// start runs a controller on its machine.
func (w *wired) start(i int) {
	w.t.Helper()
	r := w.replicas[i]
	err := w.net.hosts[i].run(func() error {
		if r.process == nil {
			r.process = start(w.t, r.name, "controller", "-config", r.config)
		} else {
			r.process.start()
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.t.Failed() {
		w.t.FailNow() // what run called could not
	}
}

// readyz returns the word of a controller's /readyz, asked on its own machine, or "" if
// nobody answers.
func (w *wired) readyz(i int) string {
	client := http.Client{
		Timeout:   time.Second,
		Transport: &http.Transport{DialContext: w.net.hosts[i].dial, DisableKeepAlives: true},
	}
	response, err := client.Get("http://" + w.replicas[i].probes + "/readyz")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	word, _ := io.ReadAll(io.LimitReader(response.Body, 64))
	if (string(word) == "ok") != (response.StatusCode == http.StatusOK) {
		w.t.Errorf("/readyz of %s says %q with status %d", w.replicas[i].name, word, response.StatusCode)
	}
	return string(word)
}

func (w *wired) awaitReady(replicas ...int) {
	w.t.Helper()
	for _, i := range replicas {
		w.awaitWord(i, "ok")
	}
}

func (w *wired) awaitWord(i int, word string) {
	w.t.Helper()
	last := ""
	defer func() {
		if last != word {
			w.t.Logf("/readyz of %s says %q", w.replicas[i].name, last)
		}
	}()
	eventually(w.t, 60*time.Second, fmt.Sprintf("/readyz of %s says %q", w.replicas[i].name, word), func() bool {
		last = w.readyz(i)
		return last == word
	})
}

// leads returns the index of the controller that says it leads, -1 for none.
func (w *wired) leads() int {
	for i, r := range w.replicas {
		if r.process != nil && r.leads() {
			return i
		}
	}
	return -1
}

// waitFor waits for d or for ctx and reports whether ctx still lasts.
func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
