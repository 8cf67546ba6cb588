package server

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// Listen opens a listener for an address: "host:port" is TCP (with port 0 the system picks a free port, see
// net.Listener.Addr); a path with a slash, or "unix:path", is a Unix socket. A socket file on which no process
// listens is replaced.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix && !strings.Contains(address, "/") {
		return lc.Listen(ctx, "tcp", address)
	}
	l, err := lc.Listen(ctx, "unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	var d net.Dialer
	nc, dialErr := d.DialContext(ctx, "unix", path)
	if dialErr == nil {
		nc.Close()
		return nil, err
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return lc.Listen(ctx, "unix", path)
}
