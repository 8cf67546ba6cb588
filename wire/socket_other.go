//go:build !unix

package wire

import (
	"net"
	"syscall"
)

// NewSocket returns c: on this system sockets are read and written as package net does.
func NewSocket(c net.Conn) net.Conn { return c }

// socketOf returns nil: sockets are read into a buffer that waits for bytes.
func socketOf(any) syscall.RawConn { return nil }

func (x *incoming) attempt(uintptr) bool { return true }
