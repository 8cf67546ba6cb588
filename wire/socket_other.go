//go:build !unix

package wire

import (
	"net"
	"syscall"
)

// NewSocket is c: sockets of this system are read and written as net does.
func NewSocket(c net.Conn) net.Conn { return c }

// socketOf is nil: they are read into memory that waits for them.
func socketOf(any) syscall.RawConn { return nil }

func (x *incoming) attempt(uintptr) bool { return true }
