//go:build unix

package wire

import (
	"net"
	"os"
	"syscall"
)

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
