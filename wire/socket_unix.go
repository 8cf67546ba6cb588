//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// socket is a connection whose small reads and writes are raw system calls, which cost less than those of package
// net (see readSocket). A deadline or the end of the connection, set by any goroutine, makes reads and writes fail.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
}

// NewSocket wraps a connection that Accept returned, so that its reads and writes cost less. One goroutine may read
// and one may write at a time.
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

// NetConn returns the wrapped connection.
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

// socketOf returns the operating system's socket of a connection; nil if the connection has none or is encrypted.
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

// attempt takes a buffer and reads the bytes that have arrived from the socket fd. If there are none yet, it releases
// the buffer if it is empty and returns false, so that an idle connection holds no memory.
func (x *incoming) attempt(fd uintptr) bool {
	x.acquire()
	x.last.begin(x.frame.buf[x.w:pieceBytes])
	done := x.last.read(fd)
	x.last.b = nil // belongs to the frame, which another connection may use next
	if !done {
		x.releaseEmpty()
	}
	return done
}

// end returns the number of bytes moved and the error of a read or write. err is the error that ended the wait for
// the socket, nil if the function try returned true.
func (x *transfer) end(err error) (int, error) {
	x.b = nil
	if err == nil {
		err = x.err
	}
	return x.n, err
}

// read reads the bytes that have arrived from the socket fd; it returns false if there are none yet, so that the
// caller waits.
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

// write writes the remaining bytes to the socket fd; it returns false if the socket accepts no more for now, so that
// the caller waits.
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

// socketError returns the error as package net would.
func socketError(op string, err error) error {
	return &net.OpError{Op: op, Net: "socket", Err: os.NewSyscallError(op, err)}
}
