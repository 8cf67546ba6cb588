package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
)

// handshakeConn is the connection of a TLS handshake. It keeps what shows that the client refuses the certificate.
type handshakeConn struct {
	*prefixedConn
	ended   bool             // the handshake has
	written bool             // by the server, during the handshake
	last    [alertBytes]byte // read during the handshake
}

// alertBytes is the length of a TLS record with an alert that is not encrypted: a byte for the type, two for the
// version, two for the length, one for the level, one for the alert.
const alertBytes = 7

// Read see net.Conn.
func (c *handshakeConn) Read(p []byte) (int, error) {
	n, err := c.prefixedConn.Read(p)
	if !c.ended && n > 0 {
		m := min(n, alertBytes)
		copy(c.last[:], c.last[m:])
		copy(c.last[alertBytes-m:], p[n-m:n])
	}
	return n, err
}

// Write see net.Conn.
func (c *handshakeConn) Write(p []byte) (int, error) {
	c.written = true
	return c.prefixedConn.Write(p)
}

// refusals has the causes of the alerts by which a client refuses the certificate of a server.
// Source: RFC 8446, section 6.2.
var refusals = map[tls.AlertError]string{
	42: untrusted, // bad_certificate: Go for every cause, OpenSSL for another host name
	43: "the client does not support the kind of the server's certificate",
	44: "the server's certificate is revoked",
	45: "the server's certificate has expired, or the client's clock is wrong",
	46: untrusted, // certificate_unknown: Java
	48: "the client does not trust the server's certificate: " + giveAuthority,
}

const (
	untrusted     = "the client does not trust the server's certificate, or uses a host name that the certificate does not have: " + giveAuthority
	giveAuthority = "set tlsCAFile in the client's connection string to the file of the certificate authority (the ca.pem of cantle cert)"
)

// explain returns the error of the handshake, with the likely cause if the client has refused the server's certificate.
func (c *handshakeConn) explain(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF) && c.written: // Node with TLS 1.3
		return fmt.Errorf("%w: the client closed the connection after it had received the server's certificate; likely cause: %s", err, untrusted)
	case !errors.As(err, &op):
		return err
	}
	text := op.Err.Error()
	switch {
	case op.Op == "remote error":
	case op.Op == "local error" && text == badRecordMAC && c.last[0] == alertRecord && c.last[3] == 0 && c.last[4] == 2:
		// OpenSSL with TLS 1.3: it refuses the certificate before it encrypts, and the server expects encrypted records.
		text = tls.AlertError(c.last[6]).Error()
	default:
		return err
	}
	for alert, cause := range refusals {
		if alert.Error() == text {
			return fmt.Errorf("%s (alert %d, %s)", cause, uint8(alert), text)
		}
	}
	return err
}

// alertRecord is the type of a TLS record with an alert.
const alertRecord = 0x15

// badRecordMAC is the text of the error for a record that cannot be decrypted.
var badRecordMAC = tls.AlertError(20).Error()
