package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hangups detects connections whose client has closed its side or reset the connection. It does not read, so a
// request that has arrived is not lost. It uses epoll: a connection costs one system call when it opens, and none
// while it lasts.
type hangups struct {
	set    int // an epoll set of sockets, from which a closed socket is removed by the system; -1 = none
	events [64]unix.EpollEvent
}

// newHangups makes an empty set of connections. If the system refuses one (file descriptors may have run out), hangups
// detects nothing: commands whose client has disconnected run to their end.
func newHangups() *hangups {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		fd = -1
	}
	return &hangups{set: fd}
}

// add begins to watch a connection, whose id poll will report after its client has closed its side: not at every poll,
// so the caller must remember it. If the connection cannot be watched, nothing is reported.
func (h *hangups) add(nc net.Conn, id int64) {
	sc, ok := rawConn(nc).(syscall.Conn)
	if !ok || h.set < 0 {
		return
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) {
		e := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(id), Pad: int32(id >> 32)}
		_ = unix.EpollCtl(h.set, unix.EPOLL_CTL_ADD, int(fd), &e)
	})
}

// poll passes the id of each connection whose client has closed its side, since the last call of poll, to a callback.
func (h *hangups) poll(tell func(id int64)) {
	for h.set >= 0 {
		n, err := unix.EpollWait(h.set, h.events[:], 0)
		if err == unix.EINTR {
			continue
		}
		for _, e := range h.events[:max(n, 0)] {
			tell(int64(e.Pad)<<32 | int64(uint32(e.Fd)))
		}
		if n < len(h.events) {
			return
		}
	}
}

// close closes the set.
func (h *hangups) close() {
	if h.set >= 0 {
		_ = unix.Close(h.set)
		h.set = -1
	}
}
