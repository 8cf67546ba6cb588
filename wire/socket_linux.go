package wire

import (
	"syscall"
	"unsafe"
)

// A socket of Go's never waits in the kernel, so a call that reads or writes one is not announced to
// Go's scheduler, as calls are that may wait. While there are announced calls Go's monitor looks
// every 20 µs whether one takes long, and gives its processor to another thread: both ways
// together cost a point read a sixth of its processor time, either alone next to nothing. Nobody
// else has the processor during such a call, and a garbage collection waits for its end; so it
// moves no more than smallBytesMax.

// readSocket reads what has come, into at least one byte.
func readSocket(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return told(n, e)
}

// writeSocket writes what the socket takes.
func writeSocket(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return told(n, e)
}

// told is the result of a call.
func told(n uintptr, e syscall.Errno) (int, error) {
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
