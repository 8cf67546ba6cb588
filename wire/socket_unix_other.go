//go:build unix && !linux

package wire

import "syscall"

// readSocket reads the bytes that have arrived.
func readSocket(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }

// writeSocket writes as many bytes as the socket accepts.
func writeSocket(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }
