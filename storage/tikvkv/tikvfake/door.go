package tikvfake

import (
	"errors"
	"net"
	"sync"
)

// errCut is what a Hook returns to have all connections to the store cut, over sockets: the client
// does not learn what became of what it has sent there.
var errCut = errors.New("the connection is cut")

// door is the listener of a store, which can be shut for a while, and those who came in.
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

// visitor is a connection that leaves its door when it is closed.
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

// shutOut cuts everybody off and lets nobody in; letIn does again.
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

// isShut reports whether nobody is let in.
func (d *door) isShut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// ofPD is PD among the doors of a cluster; the others have the ids of their stores.
const ofPD = 0

// keepDoor notes a door.
func (c *Cluster) keepDoor(of uint64, d *door) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doors == nil {
		c.doors = map[uint64]*door{}
	}
	c.doors[of] = d
}

// door is that of PD or of a store; nil if it has none of its own.
func (c *Cluster) door(of uint64) *door {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doors[of]
}
