package probe_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/probe"
)

func TestMain(m *testing.M) {
	// net/http lingers half a second on a connection that it cut in the middle of a request.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// serve starts a ready probe on a free port and stops it with the test.
func serve(t *testing.T) (address string) {
	t.Helper()
	p := probe.New(nil)
	p.Check("core", probe.OK)
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := probe.Listen(ctx, "probes.listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v, want nil when asked to stop", err)
		}
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestServeAnswersOneRequestOnAConnection(t *testing.T) {
	conn := dial(t, serve(t))
	if _, err := io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if answer := string(all); !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(answer, "\r\n\r\nok") {
		t.Errorf("answer %q", answer)
	}
}

func TestServeKeepsStrangersFromShuttingOutAKubelet(t *testing.T) {
	address := serve(t)
	oldest := dial(t, address)
	for range 300 { // more than are kept; none of them ever asks
		dial(t, address)
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("livez %d behind 300 idle connections", response.StatusCode)
	}
	if _, err := oldest.Read(make([]byte, 1)); err == nil {
		t.Error("the oldest connection was not closed")
	}
}

func TestServeEndsAClientThatNeverFinishesItsRequest(t *testing.T) {
	conn := dial(t, serve(t))
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nX-Slow:"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); isTimeout(err) {
		t.Error("the connection is still open after the read timeout")
	}
}

func TestServeBoundsHeaders(t *testing.T) {
	conn := dial(t, serve(t))
	// The server may cut the connection while this is still being written.
	_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nX-Large: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.Contains(status, " 431 ") {
		t.Errorf("status %q, want 431", status)
	}
	if isTimeout(err) {
		t.Error("no answer and no end of the connection")
	}
}

func TestServeFailsWhenItsListenerDoes(t *testing.T) {
	listener, err := probe.Listen(context.Background(), "probes.listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := probe.New(nil).Serve(context.Background(), listener); err == nil {
		t.Error("Serve on a closed listener returned no error")
	}
}

func TestListenNamesThePortAndTheKeyThatSetsIt(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	_, err = probe.Listen(context.Background(), "probes.listen", address)
	if core.KindOf(err) != core.Unavailable {
		t.Fatalf("got %v, want an error of kind Unavailable", err)
	}
	for _, word := range []string{address, "probes.listen", "in use"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
