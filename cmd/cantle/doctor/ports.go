package doctor

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/cantledb/cantle/serve/daemon"
)

// ports tries to listen on each TCP address of the settings except the console's. If running is set, a server has the
// data folder open, and its addresses are expected to be in use.
func ports(ctx context.Context, c *daemon.Config, running bool) (out []Finding) {
	for _, a := range c.Addresses() {
		if strings.HasPrefix(a.Text, "unix:") || strings.Contains(a.Text, "/") {
			continue
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", a.Text)
		switch {
		case err == nil:
			l.Close()
			if running {
				out = append(out, newFinding("ports", Note, "no program listens on %s (%s), although a server uses this folder; it may have other settings", a.Text, a.Flag))
			} else {
				out = append(out, newFinding("ports", Good, "%s (%s) is free", a.Text, a.Flag))
			}
		case errors.Is(err, syscall.EADDRINUSE):
			out = append(out, taken(a, running))
		case errors.Is(err, syscall.EACCES):
			out = append(out, newFinding("ports", Fault, "this user may not listen on %s (%s)", a.Text, a.Flag).
				do("choose a port above 1023, or let the service have CAP_NET_BIND_SERVICE"))
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			out = append(out, newFinding("ports", Fault, "%s (%s) is not an address of this machine", a.Text, a.Flag).
				do("choose one of its addresses; 0.0.0.0 is all of them"))
		default:
			out = append(out, newFinding("ports", Fault, "%s (%s): %v", a.Text, a.Flag, err).do("write it as host:port, such as 127.0.0.1:27017"))
		}
	}
	return out
}

// taken returns the finding for an address that is in use.
func taken(a daemon.Address, running bool) Finding {
	listener := holder(a.Text)
	if listener == "" {
		listener = "another program"
		if running {
			listener = "a server"
		}
	}
	if running { // the server itself is examined separately
		return newFinding("ports", Good, "%s listens on %s (%s)", listener, a.Text, a.Flag)
	}
	if strings.HasPrefix(listener, "cantle ") {
		return newFinding("ports", Warning, "%s listens on %s (%s), and does not use this folder: a start with these settings would fail", listener, a.Text, a.Flag).
			do("if it is the server that you mean, name its folder with --data; to start another one, choose an address with %s (port 0 picks a free one)", a.Flag)
	}
	return newFinding("ports", Fault, "%s listens on %s (%s) already", listener, a.Text, a.Flag).
		do("stop it, or choose another address with %s; port 0 picks a free one", a.Flag)
}
