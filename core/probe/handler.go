package probe

import (
	"net/http"
	"strconv"
)

// Handler serves /livez and /readyz, for the probe's own port and to be mounted on
// another one. GET and HEAD answer 200 or 503 with one word as plain text; ?verbose
// answers with a line for each check.
func (p *Probe) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/"+string(Livez), func(w http.ResponseWriter, r *http.Request) {
		p.answers.Load().live.write(w, r)
	})
	mux.HandleFunc("/"+string(Readyz), func(w http.ResponseWriter, r *http.Request) {
		p.answers.Load().ready.write(w, r)
	})
	return mux
}

func (a answer) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := string(a.word)
	if _, asked := r.URL.Query()["verbose"]; asked {
		body = a.verbose
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if a.word != OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if r.Method == http.MethodGet {
		// Who asked may have gone: there is nobody left to tell.
		_, _ = w.Write([]byte(body))
	}
}
