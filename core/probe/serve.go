package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rowelhq/rowel/core"
)

// The port may face anybody, so everything about a connection is bounded.
const (
	maxConnections = 128
	maxHeaderBytes = 8 << 10
	readTimeout    = 2 * time.Second
	writeTimeout   = 2 * time.Second
)

// Listen opens the probes' port. The key is the one that sets the address in the
// configuration; the error, of kind Unavailable, names both.
func Listen(ctx context.Context, key, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, core.Errorf(core.Unavailable, "listen on %s for probes: %w; set another address in %s, or switch it off there", address, err, key)
	}
	return listener, nil
}

// Serve answers on the listener until ctx is done, then closes it and returns nil. Any
// other end is an error. One request is served on a connection, as kubelets ask, and
// beyond a bound the oldest connection makes room for the newest: idle strangers cannot
// keep a kubelet out.
func (p *Probe) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:        p.Handler(),
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       silent,
	}
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(&boundedListener{Listener: listener, limit: maxConnections})
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve probes on %s: %w", listener.Addr(), err)
}
