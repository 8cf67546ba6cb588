//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// socketOf is the socket behind a connection, nil if there is none or it is encrypted.
func socketOf(from io.Reader) syscall.RawConn {
	c, ok := from.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// attempt reads what has come; it reports false when that is nothing yet.
func (x *incoming) attempt(fd uintptr) bool {
	x.hold()
	for {
		n, err := syscall.Read(int(fd), x.frame.buf[x.w:pieceBytes])
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			x.rest()
			return false
		case nil:
			x.n, x.err = n, nil
		default:
			x.n, x.err = 0, &net.OpError{Op: "read", Net: "socket", Err: os.NewSyscallError("read", err)}
		}
		return true
	}
}
