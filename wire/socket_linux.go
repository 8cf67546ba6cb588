package wire

import (
	"syscall"
	"unsafe"
)

// Go's sockets never block in the kernel, so reads and writes of them are raw system calls, which
// Go's scheduler does not track as it tracks calls that may block. While there are tracked calls,
// Go's monitor thread checks every 20 µs whether one takes long, and gives its processor to another
// thread. Raw calls for both reads and writes save a point read a sixth of its processor time; for
// only one of the two they save next to nothing. During a raw call no other goroutine can use the
// processor, and a garbage collection waits for its end; so a raw call moves no more than
// smallBytesMax.

// readSocket reads from a socket the bytes that have arrived, without waiting, into b, which has at least one byte.
func readSocket(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return syscallResult(n, e)
}

// writeSocket writes as many bytes as the socket accepts.
func writeSocket(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return syscallResult(n, e)
}

func syscallResult(n uintptr, e syscall.Errno) (int, error) {
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
