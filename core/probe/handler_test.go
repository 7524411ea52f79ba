package probe_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core/probe"
)

func ask(p *probe.Probe, method, target string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	p.Handler().ServeHTTP(recorder, httptest.NewRequest(method, target, nil))
	return recorder
}

func TestHandlerAnswersCodeAndWord(t *testing.T) {
	type got struct {
		Code int
		Body string
	}
	for word, want := range map[probe.Word]struct{ live, ready got }{
		probe.OK:         {got{200, "ok"}, got{200, "ok"}},
		probe.Dead:       {got{503, "dead"}, got{503, "dead"}},
		probe.NoLeader:   {got{200, "ok"}, got{503, "no-leader"}},
		probe.Joining:    {got{200, "ok"}, got{503, "joining"}},
		probe.CatchingUp: {got{200, "ok"}, got{503, "catching-up"}},
		probe.Restoring:  {got{200, "ok"}, got{503, "restoring"}},
		probe.Stalled:    {got{200, "ok"}, got{503, "stalled"}},
		probe.Removed:    {got{200, "ok"}, got{503, "removed"}},
		probe.Stopping:   {got{200, "ok"}, got{503, "stopping"}},
	} {
		p := probe.New(nil)
		p.Check("core", word)
		for path, want := range map[string]got{"/livez": want.live, "/readyz": want.ready} {
			response := ask(p, http.MethodGet, path)
			if diff := cmp.Diff(want, got{response.Code, response.Body.String()}); diff != "" {
				t.Errorf("%s of a core that is %s: %s", path, word, diff)
			}
			if kind := response.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" {
				t.Errorf("%s has type %q", path, kind)
			}
		}
	}
}

func TestHandlerListsChecksWhenAskedToBeVerbose(t *testing.T) {
	p := probe.New(nil)
	p.Check("core", probe.OK)
	p.Check("leader", probe.NoLeader)
	for path, want := range map[string]string{
		"/readyz?verbose":   "[+]core ok\n[-]leader failed: no-leader\nreadyz check failed: no-leader\n",
		"/livez?verbose":    "[+]core ok\n[+]leader ok\nlivez check passed\n",
		"/livez?verbose=on": "[+]core ok\n[+]leader ok\nlivez check passed\n",
	} {
		if diff := cmp.Diff(want, ask(p, http.MethodGet, path).Body.String()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestHandlerAnswersHeadWithoutBody(t *testing.T) {
	p := probe.New(nil)
	p.Check("core", probe.Stalled)
	response := ask(p, http.MethodHead, "/readyz")
	if response.Code != 503 || response.Body.Len() != 0 || response.Header().Get("Content-Length") != "7" {
		t.Errorf("HEAD: %d, %q, %v", response.Code, response.Body, response.Header())
	}
}

func TestHandlerRefusesOtherMethodsAndPaths(t *testing.T) {
	p := probe.New(nil)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
		response := ask(p, method, "/livez")
		if response.Code != http.StatusMethodNotAllowed || response.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, response.Code, response.Header().Get("Allow"))
		}
	}
	for _, path := range []string{"/", "/livez/", "/readyz/x", "/metrics"} {
		if code := ask(p, http.MethodGet, path).Code; code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
}

func BenchmarkReadyz(b *testing.B) {
	p := probe.New(nil)
	p.Check("core", probe.OK)
	handler := p.Handler()
	request := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
}
