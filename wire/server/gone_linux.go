package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the client closed its side or the connection broke. It does not
// read, so a request already on its way is not lost.
func gone(nc net.Conn) bool {
	sc, ok := rawConn(nc).(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = rc.Control(func(fd uintptr) {
		p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p[:], 0)
		closed = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return closed || err != nil
}
