package harness

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// Balancer distributes new TCP connections over its servers in turn, as a TCP load balancer does: it does not
// look at what is sent on them.
type Balancer struct {
	Addr     string
	listener net.Listener

	mu      sync.Mutex
	servers []string
	next    int
	open    map[net.Conn]bool
	closed  bool
}

// Balance starts a Balancer, which ends with the test.
func Balance(t testing.TB, servers ...string) *Balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Balancer{Addr: l.Addr().String(), listener: l, servers: slices.Clone(servers), open: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { b.pass(c) })
		}
	})
	t.Cleanup(func() {
		b.close()
		wg.Wait()
	})
	return b
}

// URI returns a connection string with loadBalanced=true, so that drivers use the load balancer mode.
func (b *Balancer) URI() string { return "mongodb://" + b.Addr + "/?loadBalanced=true" }

// Leave takes a server out of the rotation: it gets no new connections.
func (b *Balancer) Leave(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.DeleteFunc(b.servers, func(s string) bool { return s == server })
}

// pass relays one connection between a client and a server.
func (b *Balancer) pass(client net.Conn) {
	defer b.end(client)
	if !b.begin(client) {
		return
	}
	server, err := net.Dial("tcp", b.turn())
	if err != nil {
		return
	}
	defer b.end(server)
	if !b.begin(server) {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	_, _ = io.Copy(server, client)
	server.Close()
	<-back
}

// turn returns the server for the next connection, "" if there is none.
func (b *Balancer) turn() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.servers) == 0 {
		return ""
	}
	b.next++
	return b.servers[b.next%len(b.servers)]
}

func (b *Balancer) begin(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	return !b.closed
}

func (b *Balancer) end(c net.Conn) {
	c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

func (b *Balancer) close() {
	b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for c := range b.open {
		c.Close()
	}
}
