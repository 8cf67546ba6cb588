//go:build !linux

package server

import "net"

// hangups cannot be told of without reading on this system: a command whose client went
// away runs to its end, and the write of its reply fails.
type hangups struct{}

func newHangups() *hangups             { return &hangups{} }
func (h *hangups) add(net.Conn, int64) {}
func (h *hangups) poll(func(id int64)) {}
func (h *hangups) close()              {}
