package command

import "net"

// Local reports an address of this machine: of a client that need not cross a network.
func Local(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}
