//go:build !unix

package wire

import (
	"net"
	"syscall"
)

// NewSocket returns c unchanged: on this system sockets are read and written by package net.
func NewSocket(c net.Conn) net.Conn { return c }

// socketOf returns nil: on this system the connection is read into a buffer that is held while it waits for bytes.
func socketOf(any) syscall.RawConn { return nil }

func (x *incoming) attempt(uintptr) bool { return true }
