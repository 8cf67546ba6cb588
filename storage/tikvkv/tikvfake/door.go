package tikvfake

import (
	"errors"
	"net"
	"sync"
)

// errCut is returned by a Hook to cut all connections to the store when it is served over sockets:
// the outcome of requests in flight is unknown to the client.
var errCut = errors.New("the connection is cut")

// door is the listener of a store, which can be closed for a while, with its accepted connections.
type door struct {
	net.Listener
	mu   sync.Mutex
	shut bool
	in   map[net.Conn]struct{}
}

// listen opens a door at an address.
func listen(address string) (*door, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &door{Listener: l, in: map[net.Conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		shut := d.shut
		if !shut {
			d.in[c] = struct{}{}
		}
		d.mu.Unlock()
		if !shut {
			return &visitor{c, d}, nil
		}
		_ = c.Close()
	}
}

// visitor is a connection that removes itself from its door when it is closed.
type visitor struct {
	net.Conn
	d *door
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.d.mu.Lock()
	delete(v.d.in, v.Conn)
	v.d.mu.Unlock()
	return v.Conn.Close()
}

// cut closes all connections.
func (d *door) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.in {
		_ = c.Close()
	}
	clear(d.in)
}

// shutOut closes all connections and refuses new ones; letIn accepts connections again.
func (d *door) shutOut() {
	d.mu.Lock()
	d.shut = true
	d.mu.Unlock()
	d.cut()
}

func (d *door) letIn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = false
}

// isShut reports whether new connections are refused.
func (d *door) isShut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// ofPD is the key of PD among the doors of a cluster; stores have their IDs.
const ofPD = 0

// keepDoor stores a door.
func (c *Cluster) keepDoor(of uint64, d *door) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doors == nil {
		c.doors = map[uint64]*door{}
	}
	c.doors[of] = d
}

// door returns the door of PD or of a store; nil if it has none of its own.
func (c *Cluster) door(of uint64) *door {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doors[of]
}
