package tikvfake

import (
	"errors"
	"net"
	"sync"
)

// errCut is the error that a Hook returns to cut all connections to the TiKV store that received a request, if the
// cluster is served over sockets: the client then does not get the outcome of its requests in flight.
var errCut = errors.New("the connection is cut")

// pausableListener is the listener of PD or of a TiKV store, with the connections that it has accepted. While it is
// paused, it has no connections and closes new ones at once.
type pausableListener struct {
	net.Listener
	mu     sync.Mutex
	paused bool
	conns  map[net.Conn]struct{}
}

// listen opens a listener at an address.
func listen(address string) (*pausableListener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &pausableListener{Listener: l, conns: map[net.Conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (l *pausableListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		shut := l.paused
		if !shut {
			l.conns[c] = struct{}{}
		}
		l.mu.Unlock()
		if !shut {
			return &trackedConn{c, l}, nil
		}
		_ = c.Close()
	}
}

// trackedConn is a connection that removes itself from its listener when it is closed.
type trackedConn struct {
	net.Conn
	listener *pausableListener
}

// Close implements net.Conn.
func (v *trackedConn) Close() error {
	v.listener.mu.Lock()
	delete(v.listener.conns, v.Conn)
	v.listener.mu.Unlock()
	return v.Conn.Close()
}

// closeConns closes all connections.
func (l *pausableListener) closeConns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
	clear(l.conns)
}

// pause closes all connections and refuses new ones; resume accepts connections again.
func (l *pausableListener) pause() {
	l.mu.Lock()
	l.paused = true
	l.mu.Unlock()
	l.closeConns()
}

func (l *pausableListener) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = false
}

// isPaused reports whether new connections are refused.
func (l *pausableListener) isPaused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// ofPD is the key of PD among the listeners of a cluster; stores have their IDs.
const ofPD = 0

// setListener stores a listener.
func (c *Cluster) setListener(of uint64, l *pausableListener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners == nil {
		c.listeners = map[uint64]*pausableListener{}
	}
	c.listeners[of] = l
}

// listener returns the listener of PD or of a store; nil if it has none of its own.
func (c *Cluster) listener(of uint64) *pausableListener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[of]
}
