//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// socket is a connection that is read and written in steps that cost little (see readSocket). A
// deadline or the end of the connection, set by anybody, makes both fail.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
}

// NewSocket is a socket of what Accept returned, which has one goroutine that reads and one that
// writes at a time.
func NewSocket(c net.Conn) net.Conn {
	raw := socketOf(c)
	if raw == nil {
		return c
	}
	s := &socket{Conn: c, raw: raw}
	s.in.try, s.out.try = s.in.read, s.out.write
	return s
}

// SyscallConn implements syscall.Conn.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// NetConn is the connection below.
func (s *socket) NetConn() net.Conn { return s.Conn }

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	if len(b) == 0 || len(b) > smallBytesMax {
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
func (s *socket) Write(b []byte) (int, error) {
	if len(b) > smallBytesMax {
		return s.Conn.Write(b)
	}
	s.out.begin(b)
	return s.out.end(s.raw.Write(s.out.try))
}

// socketOf is the system's socket behind a connection, nil if there is none or it is encrypted.
func socketOf(conn any) syscall.RawConn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// attempt reads what has come, for which it has memory; it reports false when that is nothing yet.
func (x *incoming) attempt(fd uintptr) bool {
	x.hold()
	x.last.begin(x.frame.buf[x.w:pieceBytes])
	done := x.last.read(fd)
	x.last.b = nil // of the frame, which others may have next
	if !done {
		x.rest()
	}
	return done
}

// end is called when try has reported true, or with the error because of which it was not
// called any more.
func (x *transfer) end(err error) (int, error) {
	x.b = nil
	if err == nil {
		err = x.err
	}
	return x.n, err
}

// read takes what has come; it reports false when that is nothing yet.
func (x *transfer) read(fd uintptr) bool {
	for {
		n, err := readSocket(int(fd), x.b)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case nil:
			x.n = n
		default:
			x.err = socketError("read", err)
		}
		return true
	}
}

// write gives the socket what it takes; it reports false when there is more.
func (x *transfer) write(fd uintptr) bool {
	for x.n < len(x.b) {
		n, err := writeSocket(int(fd), x.b[x.n:])
		switch err {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		case nil:
			x.n += n
		default:
			x.err = socketError("write", err)
			return true
		}
	}
	return true
}

// socketError is the error as net would return it.
func socketError(op string, err error) error {
	return &net.OpError{Op: op, Net: "socket", Err: os.NewSyscallError(op, err)}
}
