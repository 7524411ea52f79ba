package api

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rowelhq/rowel/core"
)

// MaxMessageBytes bounds one message in either direction: a script of 4 MiB, its
// environment and room to spare.
const MaxMessageBytes = 16 << 20

const (
	dialTimeout = 2 * time.Second
	pingAfter   = 2 * time.Second // of silence on a connection
	pingTimeout = 2 * time.Second
)

// endpoint is one controller as a client reaches it.
type endpoint struct {
	address string // as given: "host:port" or "unix:/path"
	baseURL string
	client  *http.Client
}

// newEndpoint accepts "host:port", "http://host:port" and "unix:/path/to/rowel.sock".
func newEndpoint(address string) (*endpoint, error) {
	e := &endpoint{address: address}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		e.baseURL = "http://rowel.sock"
		e.client = newHTTPClient(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
		})
		return e, nil
	}
	host := strings.TrimPrefix(address, "http://")
	if _, _, err := net.SplitHostPort(host); err != nil {
		return nil, core.Errorf(core.Invalid, "address %q is neither host:port nor unix:/path", address)
	}
	e.baseURL = "http://" + host
	e.client = newHTTPClient((&net.Dialer{Timeout: dialTimeout}).DialContext)
	return e, nil
}

// newHTTPClient speaks HTTP/2 without TLS over one kept connection, and notices within
// four seconds that the other end is gone without a word.
func newHTTPClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{
		Protocols:       &protocols,
		DialContext:     dial,
		IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter,
			PingTimeout:     pingTimeout,
		},
	}}
}

func (e *endpoint) close() { e.client.CloseIdleConnections() }
