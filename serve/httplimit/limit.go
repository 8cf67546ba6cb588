package httplimit

import (
	"net"
	"sync"
)

// MaxTotal and MaxPerAddress are the maximum numbers of HTTP connections of a listener, in all and from one address.
// A connection above them is closed at once, so that clients cannot use up the file descriptors of the process.
const (
	MaxTotal      = 256
	MaxPerAddress = 128 // a proxy, or ssh -L, connects many people from one address
)

// Limit returns a listener that holds at most MaxTotal open connections, and MaxPerAddress from one address; it
// closes further ones at once.
func Limit(l net.Listener) net.Listener { return &listener{Listener: l, byAddress: map[string]int{}} }

type listener struct {
	net.Listener
	mu        sync.Mutex
	all       int
	byAddress map[string]int // by address
}

// Accept waits for a connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := c.RemoteAddr().String()
		if host, _, err := net.SplitHostPort(from); err == nil {
			from = host
		}
		if l.enter(from) {
			return &conn{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		_ = c.Close()
	}
}

func (l *listener) enter(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= MaxTotal || l.byAddress[from] >= MaxPerAddress {
		return false
	}
	l.all++
	l.byAddress[from]++
	return true
}

func (l *listener) leave(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byAddress[from]--; l.byAddress[from] == 0 {
		delete(l.byAddress, from)
	}
}

// conn releases its place when it is closed.
type conn struct {
	net.Conn
	leave func()
}

func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
