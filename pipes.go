package cantle

import (
	"context"
	"net"
	"sync"
)

// pipeAddress is the address in the connection string of a server that listens nowhere. It cannot be resolved, so a
// client without the dialer reports an error with this text, which names the missing call.
const pipeAddress = "dial-by-server.invalid:27017"

// pipeAddr is pipeAddress as a net.Addr, for connections inside the process.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return pipeAddress }

// pipes is a listener without a socket.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes { return &pipes{waiting: make(chan net.Conn), closed: make(chan struct{})} }

// dial makes a connection inside the process, passes one end to the server, and returns the other.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.waiting <- pipe{theirs}:
		return pipe{ours}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: pipeAddr{}, Err: net.ErrClosed}
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "accept", Net: "pipe", Addr: pipeAddr{}, Err: net.ErrClosed}
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

// pipe is one end of a connection inside the process, with an address that drivers can parse.
type pipe struct{ net.Conn }

func (pipe) LocalAddr() net.Addr  { return pipeAddr{} }
func (pipe) RemoteAddr() net.Addr { return pipeAddr{} }
