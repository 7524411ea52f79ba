package api

import (
	"context"
	"net"
	"net/http"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

// Headers in which a client on an unauthenticated connection says who it is. They are
// believed only where the configuration says insecure = true.
const (
	userHeader = "Rowel-User"
	uidHeader  = "Rowel-Uid"
)

// identity is who sends a request.
type identity struct {
	user    string
	uid     uint32
	trusted bool // the kernel vouches for it, or the configuration waives the question
	local   bool // came over the Unix socket
}

// operator reports whether the sender may act on everyone's jobs and on nodes: root, or
// the user that the controller runs as.
func (id identity) operator(self uint32) bool {
	return id.trusted && (!id.local || id.uid == 0 || id.uid == self)
}

type peerKey struct{}

// withPeer notes the credentials of a Unix socket's other end. It is an
// http.Server.ConnContext.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return ctx
	}
	var credentials *unix.Ucred
	if controlErr := raw.Control(func(fd uintptr) {
		credentials, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); controlErr != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, identity{
		user: userName(credentials.Uid), uid: credentials.Uid, trusted: true, local: true,
	})
}

func userName(uid uint32) string {
	text := strconv.FormatUint(uint64(uid), 10)
	if account, err := user.LookupId(text); err == nil {
		return account.Username
	}
	return text
}

// identify returns who sends a request with this context and these headers.
func (s *Server) identify(ctx context.Context, header http.Header) identity {
	if id, ok := ctx.Value(peerKey{}).(identity); ok && header.Get(forwardedHeader) == "" {
		return id
	}
	id := identity{user: header.Get(userHeader), trusted: s.config.Insecure}
	if uid, err := strconv.ParseUint(header.Get(uidHeader), 10, 32); err == nil {
		id.uid = uint32(uid)
	}
	if id.user == "" {
		id.user = "unknown"
	}
	return id
}

// allowWrite refuses senders that nobody vouches for.
func (s *Server) allowWrite(id identity) error {
	if id.trusted {
		return nil
	}
	return core.Errorf(core.Denied, "clients on TCP are not authenticated: use the Unix socket in the controller's data directory, or set insecure = true in its configuration")
}
