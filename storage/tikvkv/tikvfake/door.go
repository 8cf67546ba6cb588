package tikvfake

import (
	"errors"
	"net"
	"sync"
)

// errCut is returned by a Hook to cut all connections to the store when it is served over sockets:
// the outcome of requests in flight is unknown to the client.
var errCut = errors.New("the connection is cut")

// pausableListener is the listener of a store, which can be closed for a while, with its accepted connections.
type pausableListener struct {
	net.Listener
	mu     sync.Mutex
	paused bool
	in     map[net.Conn]struct{}
}

// listen opens a door at an address.
func listen(address string) (*pausableListener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &pausableListener{Listener: l, in: map[net.Conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (d *pausableListener) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		shut := d.paused
		if !shut {
			d.in[c] = struct{}{}
		}
		d.mu.Unlock()
		if !shut {
			return &trackedConn{c, d}, nil
		}
		_ = c.Close()
	}
}

// trackedConn is a connection that removes itself from its door when it is closed.
type trackedConn struct {
	net.Conn
	d *pausableListener
}

// Close implements net.Conn.
func (v *trackedConn) Close() error {
	v.d.mu.Lock()
	delete(v.d.in, v.Conn)
	v.d.mu.Unlock()
	return v.Conn.Close()
}

// closeConns closes all connections.
func (d *pausableListener) closeConns() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.in {
		_ = c.Close()
	}
	clear(d.in)
}

// pause closes all connections and refuses new ones; resume accepts connections again.
func (d *pausableListener) pause() {
	d.mu.Lock()
	d.paused = true
	d.mu.Unlock()
	d.closeConns()
}

func (d *pausableListener) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = false
}

// isPaused reports whether new connections are refused.
func (d *pausableListener) isPaused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused
}

// ofPD is the key of PD among the listeners of a cluster; stores have their IDs.
const ofPD = 0

// setListener stores a door.
func (c *Cluster) setListener(of uint64, d *pausableListener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners == nil {
		c.listeners = map[uint64]*pausableListener{}
	}
	c.listeners[of] = d
}

// listener returns the door of PD or of a store; nil if it has none of its own.
func (c *Cluster) listener(of uint64) *pausableListener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[of]
}
