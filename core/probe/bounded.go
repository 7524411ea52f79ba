package probe

import (
	"container/list"
	"io"
	"log"
	"net"
	"sync"
)

// silent drops what net/http would log of broken clients: the port faces anybody, and
// what they send wrong is none of the operator's business.
var silent = log.New(io.Discard, "", 0)

// boundedListener keeps at most limit connections open, by closing the oldest.
type boundedListener struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open list.List // of *boundedConn, oldest first; guarded by mu
}

// Accept waits for a connection and makes room for it.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	bounded := &boundedConn{Conn: conn, listener: l}
	if oldest := l.admit(bounded); oldest != nil {
		_ = oldest.Close()
	}
	return bounded, nil
}

// admit records the connection and returns the one that has to go for it, or nil.
func (l *boundedListener) admit(conn *boundedConn) *boundedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.element = l.open.PushBack(conn)
	if l.open.Len() <= l.limit {
		return nil
	}
	return l.open.Remove(l.open.Front()).(*boundedConn)
}

func (l *boundedListener) forget(conn *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open.Remove(conn.element) // does nothing if it has been removed
}

// boundedConn leaves its listener's list when it is closed.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	element  *list.Element
}

// Close closes the connection and frees its place.
func (c *boundedConn) Close() error {
	c.listener.forget(c)
	return c.Conn.Close()
}
