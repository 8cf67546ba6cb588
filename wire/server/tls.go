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

// TLSMode says which connections are encrypted.
type TLSMode uint8

// The modes. Manual: reference/configuration-options#net.tls.mode. What preferTLS
// adds to allowTLS is about a server's own connections to others, of which there are
// none.
const (
	TLSDisabled TLSMode = iota
	TLSAllow            // if the client begins so
	TLSPrefer           // if the client begins so
	TLSRequire          // all
)

// tlsModes are the names of the modes.
var tlsModes = [...]string{"disabled", "allowTLS", "preferTLS", "requireTLS"}

// ParseTLSMode reads the name of a mode.
func ParseTLSMode(s string) (TLSMode, error) {
	for m, name := range tlsModes {
		if name == s {
			return TLSMode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is none of disabled, allowTLS, preferTLS and requireTLS", s)
}

// String is the name of the mode.
func (m TLSMode) String() string { return tlsModes[m] }

// handshakeMax is how long a TLS handshake may take once it has begun.
const handshakeMax = 10 * time.Second

// isHandshake reports whether a connection begins with a TLS record. Read as the
// length of a message these bytes would mean more than 66,000, and no client sends
// that before its first hello.
func isHandshake(b []byte) bool { return b[0] == 0x16 && b[1] == 3 && b[2] <= 4 }

// secure looks at the first bytes of a connection and encrypts it if they are the
// beginning of a handshake.
// Errors: those of the connection and of the handshake; a client that does not
// encrypt although it has to.
func (c *Conn) secure() error {
	s := c.server
	if s.cfg.TLS == TLSDisabled || c.remote.Network() == "unix" {
		return nil
	}
	c.enter(reading)
	if err := c.deadline(s.cfg.FirstMax); err != nil {
		return err
	}
	first := &begunConn{Conn: c.stream, first: make([]byte, 3)}
	if _, err := io.ReadFull(c.stream, first.first); err != nil {
		return wire.ErrHangUp // nothing was asked
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
	t := tls.Server(first, s.cfg.TLSConfig())
	if err := t.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	c.stream = t
	return c.deadline(0)
}

// deadline bounds what is read and written from now on; 0 lifts the bound. A
// shutdown that came first stays in force.
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

// begunConn is a connection whose first bytes were read already.
type begunConn struct {
	net.Conn
	first []byte
}

// Read see net.Conn.
func (b *begunConn) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// NetConn is the connection below.
func (b *begunConn) NetConn() net.Conn { return b.Conn }
