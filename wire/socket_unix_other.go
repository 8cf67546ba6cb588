//go:build unix && !linux

package wire

import "syscall"

// readSocket reads what has come.
func readSocket(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }

// writeSocket writes what the socket takes.
func writeSocket(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }
