package controller

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/config"
)

// SocketName is the Unix socket in the data directory on which local clients are known
// by the kernel's word.
const SocketName = "rowel.sock"

// Listeners are a controller's open ports. They are bound before anything else starts,
// so that a taken port is one clear sentence and nothing half started; the socket comes
// once the data directory is locked.
type Listeners struct {
	API     net.Listener
	Socket  net.Listener
	Raft    net.Listener
	Probes  net.Listener // nil when switched off
	Metrics net.Listener // nil when switched off
}

// listen binds every TCP port that the configuration asks for.
func listen(c *config.Config) (*Listeners, error) {
	l := &Listeners{}
	ports := []struct {
		key, address string
		enabled      bool
		at           *net.Listener
	}{
		{"api", c.API.Listen, true, &l.API},
		{"raft", c.Raft.Listen, true, &l.Raft},
		{"probes", c.Probes.Listen, c.Probes.Enabled, &l.Probes},
		{"metrics", c.Metrics.Listen, c.Metrics.Enabled, &l.Metrics},
	}
	for _, port := range ports {
		if !port.enabled {
			continue
		}
		listener, err := net.Listen("tcp", port.address)
		if err != nil {
			l.Close()
			return nil, bindError(port.key, port.address, err)
		}
		*port.at = listener
	}
	return l, nil
}

func bindError(key, address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return core.Errorf(core.Unavailable, "%s.listen: port %s is taken by another process: stop that one, or set another address in the %s block (rowel dev: --port)", key, address, key)
	}
	return core.Errorf(core.Unavailable, "%s.listen: cannot listen on %s: %w", key, address, err)
}

// listenSocket replaces the socket that a killed process left. The data directory's
// lock, taken before, makes sure that no living one owns it.
func listenSocket(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, core.Errorf(core.Unavailable, "replace socket %s: %w", path, err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, core.Errorf(core.Unavailable, "listen on socket %s: %w (data_dir must be at most about 90 characters long)", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		listener.Close()
		return nil, core.Errorf(core.Unavailable, "open socket %s to local users: %w", path, err)
	}
	return listener, nil
}

// Close closes every port.
func (l *Listeners) Close() {
	for _, listener := range []net.Listener{l.API, l.Socket, l.Raft, l.Probes, l.Metrics} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

// advertised returns the configured address, or the listener's own where its port was
// for the system to choose.
func advertised(configured string, listener net.Listener) string {
	if _, port, err := net.SplitHostPort(configured); err == nil && port == "0" {
		return listener.Addr().String()
	}
	return configured
}
