package command

import "net"

// Local reports whether an address is on this machine, so that its client crosses no network.
func Local(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}
