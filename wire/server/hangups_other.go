//go:build !linux

package server

import "net"

// hangups detects no disconnected clients on this system, because it would have to read from the connections. A
// command whose client has disconnected runs to its end, and the write of its reply fails.
type hangups struct{}

func newHangups() *hangups             { return &hangups{} }
func (h *hangups) add(net.Conn, int64) {}
func (h *hangups) poll(func(id int64)) {}
func (h *hangups) close()              {}
