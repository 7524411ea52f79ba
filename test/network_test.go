package test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// network is a small IPv4 network that this process carries itself. Each host is a
// network namespace whose only interface is a TUN device; the packets that a host sends
// are handed to the other one here, unless the cable between them is cut, slow or loses
// some. It needs root and /dev/net/tun, no packet filter, no traffic control and no name
// in the file system: when this process and those in the namespaces are gone, however
// they ended, so is the network. Its addresses exist in the namespaces alone.
type network struct {
	hosts  []*host
	cables [][]*cable // from, to
	done   chan struct{}
}

// host is one machine as far as the network goes.
type host struct {
	address   netip.Addr
	namespace *os.File
	tun       *os.File
}

// cable carries packets one way.
type cable struct {
	to      *host
	quality atomic.Pointer[quality]
	queue   chan parcel
}

// quality is what a cable does to packets. The zero value is a good one.
type quality struct {
	cut   bool
	delay time.Duration
	loss  float64 // of 1
}

type parcel struct {
	packet []byte
	due    time.Time
}

const (
	networkMTU   = 1500
	cableBacklog = 4096 // packets under way; more are lost, as on a real one
)

// newNetwork makes a network of n hosts. Without the rights for it the test is skipped,
// in CI it fails.
func newNetwork(t testing.TB, n int) *network {
	t.Helper()
	w := &network{done: make(chan struct{})}
	t.Cleanup(w.close)
	for i := range n {
		h, err := newHost(netip.AddrFrom4([4]byte{10, 77, 0, byte(i + 1)}))
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
			if os.Getenv("CI") == "" {
				t.Skipf("needs root and /dev/net/tun: %v", err)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		w.hosts = append(w.hosts, h)
	}
	for from := range w.hosts {
		w.cables = append(w.cables, nil)
		for _, to := range w.hosts {
			out := &cable{to: to, queue: make(chan parcel, cableBacklog)}
			out.quality.Store(&quality{})
			w.cables[from] = append(w.cables[from], out)
			go out.deliver(w.done)
		}
	}
	for from := range w.hosts {
		go w.carry(from)
	}
	return w
}

// newHost makes a namespace with one address in it.
func newHost(address netip.Addr) (*host, error) {
	h := &host{address: address}
	err := onOwnThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		if h.namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		if h.tun, err = openTUN("net0"); err != nil {
			return err
		}
		return errors.Join(setUp("lo", netip.Addr{}), setUp("net0", address))
	})
	return h, err
}

// onOwnThread runs f on a thread that no other goroutine uses and that ends with it: its
// namespaces are f's to change.
func onOwnThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		defer close(result) // also when f ends the goroutine
		runtime.LockOSThread()
		result <- f()
	}()
	return <-result
}

// openTUN makes an interface in the calling thread's namespace.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, errors.Join(fmt.Errorf("make interface %s: %w", name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// setUp gives an interface its address, if there is one, and switches it on.
func setUp(name string, address netip.Addr) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	set := func(what uint, fill func(*unix.Ifreq) error) error {
		request, err := unix.NewIfreq(name)
		if err == nil {
			err = fill(request)
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, what, request)
		}
		if err != nil {
			return fmt.Errorf("set up interface %s: %w", name, err)
		}
		return nil
	}
	if address.IsValid() {
		err = errors.Join(
			set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(address.AsSlice()) }),
			set(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) }))
	}
	return errors.Join(err, set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return nil
	}))
}

// run calls f on a thread in the host's namespace. Sockets that f opens and processes
// that it starts are the host's.
func (h *host) run(f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(h.namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the namespace of %s: %w", h.address, err)
		}
		return f()
	})
}

// dial connects from the host.
func (h *host) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.run(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (h *host) at(port int) string { return netip.AddrPortFrom(h.address, uint16(port)).String() }

// carry takes what a host sends to the cable that leads where it is meant for.
func (w *network) carry(from int) {
	buffer := make([]byte, networkMTU)
	for {
		n, err := w.hosts[from].tun.Read(buffer)
		if err != nil {
			return // closed
		}
		if n < 20 || buffer[0]>>4 != 4 {
			continue // IPv6 looking for its router
		}
		to := int(binary.BigEndian.Uint32(buffer[16:20])&0xff) - 1
		if to < 0 || to >= len(w.hosts) || w.hosts[to].address != netip.AddrFrom4([4]byte(buffer[16:20])) {
			continue
		}
		out := w.cables[from][to]
		q := out.quality.Load()
		if q.cut || rand.Float64() < q.loss {
			continue
		}
		select {
		case out.queue <- parcel{append([]byte(nil), buffer[:n]...), time.Now().Add(q.delay)}:
		default:
		}
	}
}

// deliver hands over what a cable carries, in order and when it is due.
func (w *cable) deliver(done <-chan struct{}) {
	for {
		select {
		case p := <-w.queue:
			if wait := time.Until(p.due); wait > 0 {
				select {
				case <-time.After(wait):
				case <-done:
					return
				}
			}
			_, _ = w.to.tun.Write(p.packet) // an error is a lost packet
		case <-done:
			return
		}
	}
}

// set makes all cables from one host to another what is said.
func (w *network) set(from, to int, q quality) { w.cables[from][to].quality.Store(&q) }

// between sets both directions.
func (w *network) between(a, b int, q quality) {
	w.set(a, b, q)
	w.set(b, a, q)
}

// isolate cuts a host off from all others, both ways.
func (w *network) isolate(a int) { w.around(a, quality{cut: true}) }

// around sets all that leads from or to a host.
func (w *network) around(a int, q quality) {
	for b := range w.hosts {
		w.between(a, b, q)
	}
}

// heal makes every cable a good one.
func (w *network) heal() {
	for a := range w.hosts {
		w.around(a, quality{})
	}
}

func (w *network) close() {
	close(w.done)
	for _, h := range w.hosts {
		_ = h.tun.Close()
		_ = h.namespace.Close()
	}
}

// TestNetworkCarriesUntilItIsCut shows that what the other tests rely on does what it
// says: packets arrive, a cut cable carries none in its direction, a slow one takes its
// time.
func TestNetworkCarriesUntilItIsCut(t *testing.T) {
	w := newNetwork(t, 2)
	var listener net.PacketConn
	if err := w.hosts[1].run(func() (err error) {
		listener, err = net.ListenPacket("udp", w.hosts[1].at(7000))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // answers every packet with itself
		buffer := make([]byte, 64)
		for {
			n, from, err := listener.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = listener.WriteTo(buffer[:n], from)
		}
	}()
	conn, err := w.hosts[0].dial(t.Context(), "udp", w.hosts[1].at(7000))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	echo := func(what string, patience time.Duration) bool {
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, what); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 64)
		n, err := conn.Read(buffer)
		return err == nil && string(buffer[:n]) == what
	}
	if !echo("good", 10*time.Second) {
		t.Fatal("nothing came back over a good cable")
	}
	for _, direction := range [][2]int{{0, 1}, {1, 0}} {
		w.set(direction[0], direction[1], quality{cut: true})
		if echo("cut", 100*time.Millisecond) {
			t.Errorf("a packet came back although %v is cut", direction)
		}
		w.heal()
	}
	w.around(0, quality{delay: 50 * time.Millisecond})
	if began := time.Now(); !echo("slow", 10*time.Second) || time.Since(began) < 100*time.Millisecond {
		t.Errorf("over a slow cable the answer took %v, want at least twice its delay", time.Since(began))
	}
}
