package wire

import (
	"io"
	"net"
	"syscall"
)

// Socket is a connection that is read and written in steps that cost little (see readSocket), where
// the system's socket can be had. One goroutine may read and another write at a time; a
// deadline or the end of the connection, set by anybody, makes both fail.
type Socket struct {
	net.Conn
	raw     syscall.RawConn // nil: only Conn can be used
	in, out transfer
}

// transfer is a Read or a Write that is under way.
type transfer struct {
	b   []byte
	n   int   // how much of b is done
	err error // why not all of it
	try func(fd uintptr) bool
}

// NewSocket is a socket of what Accept returned.
func NewSocket(c net.Conn) *Socket {
	s := &Socket{Conn: c, raw: socketOf(c)}
	s.in.try, s.out.try = s.in.read, s.out.write
	return s
}

// SyscallConn implements syscall.Conn.
func (s *Socket) SyscallConn() (syscall.RawConn, error) {
	if s.raw == nil {
		return nil, syscall.EINVAL
	}
	return s.raw, nil
}

// NetConn is the connection below.
func (s *Socket) NetConn() net.Conn { return s.Conn }

// Read implements net.Conn.
func (s *Socket) Read(b []byte) (int, error) {
	if s.raw == nil || len(b) == 0 || len(b) > smallBytesMax {
		return s.Conn.Read(b)
	}
	s.in.begin(b)
	n, err := s.in.end(s.raw.Read(s.in.try))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (s *Socket) Write(b []byte) (int, error) {
	if s.raw == nil || len(b) > smallBytesMax {
		return s.Conn.Write(b)
	}
	s.out.begin(b)
	return s.out.end(s.raw.Write(s.out.try))
}

func (x *transfer) begin(b []byte) { x.b, x.n, x.err = b, 0, nil }

// end is called when try has reported true, or with the error because of which it was not
// called any more.
func (x *transfer) end(err error) (int, error) {
	x.b = nil
	if err == nil {
		err = x.err
	}
	return x.n, err
}
