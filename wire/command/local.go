package command

import "net"

// Local reports whether the address of a client is a loopback address, or no TCP address, so that no network lies
// between client and server.
func Local(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}
