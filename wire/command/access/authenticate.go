package access

import (
	"crypto/x509"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// runAuthenticate logs a connection in by the client certificate of its TLS handshake.
// Manual: core/security-x.509. Spec: auth (MONGODB-X509).
// Errors: AuthenticationFailed (18), ProtocolError (17) if another user is logged in.
func (s *State) runAuthenticate(c *command.Call) error {
	n := auth.Name{DB: c.DB}
	var mechanism string
	err := c.ReadArgs(
		arguments.String("mechanism", &mechanism),
		arguments.String("user", &n.Name),
		arguments.Others(), // arguments of older mechanisms are ignored
	)
	if err != nil {
		return err
	}
	if mechanism != string(auth.X509) {
		return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.") // other mechanisms use saslStart
	}
	if err := s.x509(c, n, false); err != nil {
		return err
	}
	appendAuthenticated(c.Reply, c.ConnState.Login.Name)
	return nil
}

// x509 logs in the user that is the subject of the client's certificate. n is the user name that the client sent;
// n.Name must be empty, or equal to the subject. speculative is true for a login in a hello.
// Errors: AuthenticationFailed (18), ProtocolError (17) if another user is logged in.
func (s *State) x509(c *command.Call, n auth.Name, speculative bool) error {
	s.countAttempt(c, auth.X509, speculative)
	cert, subject := certificate(c), ""
	if cert != nil {
		subject = auth.Subject(cert)
	}
	if n.Name == "" {
		n.Name = subject
	}
	u, err := s.checkProof(c, n, auth.X509, func() (*auth.User, string) {
		switch {
		case n.DB != auth.External:
			return nil, "users with certificates belong to $external"
		case cert == nil:
			return nil, "no client certificate was presented that the server trusts"
		case n.Name != subject:
			return nil, "the certificate is that of " + subject
		}
		u := c.Server.Auth.User(n)
		if u == nil {
			return nil, "there is no such user"
		}
		return u, ""
	})
	if err != nil {
		return err
	}
	return s.logIn(c, u, auth.X509)
}

// certificate returns the verified certificate of the client; nil without one.
func certificate(c *command.Call) *x509.Certificate {
	state := c.Conn.TLS()
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}
