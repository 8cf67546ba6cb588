package access

import (
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// loginCounts counts attempts to log in, for serverStatus.
type loginCounts struct {
	mechanismQueries    atomic.Int64 // hellos that request a user's mechanisms
	sha1, sha256, other attempts
}

// attempts counts the attempts with one mechanism.
type attempts struct{ usual, speculative attemptCounts }

// attemptCounts counts messages that begin a login.
type attemptCounts struct{ all, successful atomic.Int64 }

// of returns the counts of a mechanism.
func (l *loginCounts) of(m auth.Mechanism) *attempts {
	switch m {
	case auth.ScramSHA1:
		return &l.sha1
	case auth.ScramSHA256:
		return &l.sha256
	}
	return &l.other
}

// countAttempt counts the begin of a login, for serverStatus, and stores in the connection whether it came with a
// hello, because countLogin needs that.
func (s *State) countAttempt(c *command.Call, m auth.Mechanism, speculative bool) {
	a := s.logins.of(m)
	c.ConnState.Speculative = speculative
	if speculative {
		a.speculative.all.Add(1)
	} else {
		a.usual.all.Add(1)
	}
}

// countLogin counts the success of the last attempt of the connection.
func (s *State) countLogin(c *command.Call, m auth.Mechanism) {
	a := s.logins.of(m)
	if c.ConnState.Speculative {
		a.speculative.successful.Add(1)
	} else {
		a.usual.successful.Add(1)
	}
}

// append appends both counts under a name.
func (r *attemptCounts) append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Int64("received", r.all.Load())
	b.Int64("successful", r.successful.Load())
	b.End()
}

// AppendSecurity appends the section security of serverStatus: the counts of logins, and the subject and expiry of
// the server's certificate.
// Manual: reference/command/serverStatus#security.
func (s *State) AppendSecurity(c *command.Call, b *bson.Builder) {
	b.BeginDoc("authentication")
	b.Int64("saslSupportedMechsReceived", s.logins.mechanismQueries.Load())
	b.BeginDoc("mechanisms")
	for _, m := range []auth.Mechanism{auth.X509, auth.ScramSHA1, auth.ScramSHA256} {
		a := s.logins.of(m)
		b.BeginDoc(string(m))
		a.speculative.append(b, "speculativeAuthenticate")
		(&attemptCounts{}).append(b, "clusterAuthenticate")
		a.usual.append(b, "authenticate")
		b.End()
	}
	b.End()
	b.End()
	if s.Certificate == nil {
		return
	}
	if cert := s.Certificate(); cert != nil {
		b.String("SSLServerSubjectName", auth.Subject(cert))
		b.Bool("SSLServerHasCertificateAuthority", s.ClientAuthorities)
		b.DateTime("SSLServerCertificateExpirationDate", cert.NotAfter.UnixMilli())
	}
}
