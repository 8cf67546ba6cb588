package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TLSMode selects which connections are encrypted.
type TLSMode uint8

// The modes. Manual: reference/configuration-options#net.tls.mode. preferTLS differs from
// allowTLS only in a server's own connections to other servers, and there are none.
const (
	TLSDisabled TLSMode = iota
	TLSAllow            // those whose client begins with TLS
	TLSPrefer           // the same
	TLSRequire          // all but those of Unix sockets
)

// tlsModes are the names of the modes.
var tlsModes = [...]string{"disabled", "allowTLS", "preferTLS", "requireTLS"}

// ParseTLSMode returns the mode of a name.
func ParseTLSMode(s string) (TLSMode, error) {
	for m, name := range tlsModes {
		if name == s {
			return TLSMode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is none of disabled, allowTLS, preferTLS and requireTLS", s)
}

// String returns the name of the mode.
func (m TLSMode) String() string { return tlsModes[m] }

// handshakeMax is the timeout of a TLS handshake, counted from its beginning.
const handshakeMax = 10 * time.Second

// isHandshake reports whether the first bytes of a connection are a TLS record of a version 3.1 to 3.4. As the length
// of a message they would be more than 66,000 bytes, and no client sends so long a message before its first hello.
func isHandshake(b []byte) bool { return b[0] == 0x16 && b[1] == 3 && 1 <= b[2] && b[2] <= 4 }

// secure reads the first bytes of a connection, and encrypts the connection if they begin a TLS handshake. It does
// nothing on a Unix socket, or if TLS is disabled. Errors: ErrHangUp if the client sends nothing or the server drains;
// errors of the handshake; an error for a client that must use TLS and does not.
func (c *Conn) secure() error {
	s := c.server
	if s.cfg.TLS == TLSDisabled || c.remote.Network() == "unix" {
		return nil
	}
	c.enter(reading)
	if err := c.deadline(s.cfg.FirstMax); err != nil {
		return err
	}
	first := &prefixedConn{Conn: c.stream, first: make([]byte, 3)}
	if _, err := io.ReadFull(c.stream, first.first); err != nil {
		return wire.ErrHangUp // the client sent nothing
	}
	if !isHandshake(first.first) {
		if s.cfg.TLS == TLSRequire {
			return errors.New("the client does not use TLS, which --tls-mode=requireTLS demands; add tls=true to its connection string")
		}
		c.stream = first
		return c.deadline(0)
	}
	if err := c.deadline(handshakeMax); err != nil {
		return err
	}
	h := &handshakeConn{prefixedConn: first}
	t := tls.Server(h, s.cfg.TLSConfig())
	if err := t.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", h.explain(err))
	}
	h.ended = true
	c.stream = t
	return c.deadline(0)
}

// deadline makes reads and writes of the connection fail after the duration d, counted from now; 0 removes every
// limit. Errors: ErrHangUp if the server is draining or the connection's context has ended.
func (c *Conn) deadline(d time.Duration) error {
	at := time.Time{}
	if d > 0 {
		at = time.Now().Add(d)
	}
	c.nc.SetDeadline(at)
	if c.server.draining.Load() || c.ctx.Err() != nil {
		return wire.ErrHangUp
	}
	return nil
}

// prefixedConn is a connection whose first bytes have been read.
type prefixedConn struct {
	net.Conn
	first []byte
}

// Read see net.Conn.
func (b *prefixedConn) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// NetConn returns the wrapped connection.
func (b *prefixedConn) NetConn() net.Conn { return b.Conn }
