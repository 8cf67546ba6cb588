package command

import (
	"net"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/session"
)

// login is the proven user of a connection, with what it may do. Immutable: when
// users or roles change, the next command of the connection makes a new one.
type login struct {
	name      auth.Name
	id        [16]byte // of the user, which tells it from a later one of that name
	mechanism auth.Mechanism
	account   bool // the account of the Cosmos listener, which no directory holds
	version   uint64
	roles     []auth.Name // all it leads to
	grants    *auth.Grants
	// rolesValue is $$USER_ROLES.
	rolesValue bson.Value
}

// has reports whether the user has a role, at whatever remove.
func (l *login) has(n auth.Name) bool {
	if l == nil {
		return false
	}
	for _, r := range l.roles {
		if r == n {
			return true
		}
	}
	return false
}

// currentLogin returns who uses the connection, with the privileges of this
// moment; nil for nobody.
func (c *Call) currentLogin() *login {
	p := c.Peer
	l := p.login
	if l == nil || l.version == c.Auth.Version() {
		return l
	}
	u := c.loginUser(l.name)
	if u == nil || u.ID != l.id {
		c.setLogin(nil) // dropped
		return nil
	}
	n := c.newLogin(u, l.mechanism)
	c.setLogin(n)
	return n
}

// loginUser finds a user that the connection may log in as.
func (c *Call) loginUser(n auth.Name) *auth.User {
	return peerUsers{c.Server, c.Peer.cosmos}.User(n)
}

// peerUsers are the users that a connection may log in as: those of the directory,
// and through the Cosmos listener the account.
type peerUsers struct {
	s      *Server
	cosmos bool
}

// User see auth.Users. The account is known in every database.
func (p peerUsers) User(n auth.Name) *auth.User {
	if a := p.s.Account; a != nil && p.cosmos && n.Name == a.Name.Name && n.DB != auth.External {
		return a
	}
	return p.s.Auth.User(n)
}

// newLogin resolves what a user may do.
func (c *Call) newLogin(u *auth.User, m auth.Mechanism) *login {
	l := &login{name: u.Name, id: u.ID, mechanism: m, version: c.Auth.Version(), account: u == c.Account}
	l.roles = c.Auth.Inherited(u.Roles)
	l.grants = auth.NewGrants(c.Auth.Privileges(u.Roles))
	b := bson.NewArrayBuilder(nil)
	for _, r := range l.roles {
		b.BeginDoc("")
		b.String("_id", r.DB+"."+r.Name)
		b.String("role", r.Name)
		b.String("db", r.DB)
		b.End()
	}
	l.rolesValue = b.Doc().ArrayValue()
	return l
}

// setLogin makes a user that of the connection; nil for nobody.
func (c *Call) setLogin(l *login) {
	p := c.Peer
	p.login, p.user = l, ""
	if l != nil {
		p.user = l.name.String()
	}
	p.owner = session.OwnerOf(p.user)
	c.Conn.SetStranger(c.RequireAuth && l == nil)
}

// enter makes a proven user that of the connection.
// Errors: AuthenticationFailed (18), ProtocolError (17) if there is one already.
func (c *Call) enter(u *auth.User, m auth.Mechanism) error {
	if l := c.currentLogin(); l != nil {
		if l.name == u.Name && l.id == u.ID {
			return nil
		}
		return mongoerr.New(mongoerr.ProtocolError, "Another user is already authenticated; a connection belongs to one user until it logs out")
	}
	for _, r := range c.Auth.Restrictions(u) {
		if !r.Met(c.Conn.Remote(), c.Conn.Local()) {
			return c.loginFailed(u.Name, m, "its authentication restrictions do not allow this address")
		}
	}
	c.slowdown.Succeeded(slowKey(c.Conn.Remote()))
	c.slowdown.Succeeded(u.Name.String())
	c.setLogin(c.newLogin(u, m))
	c.loggedIn(m)
	c.Log.Debug().Int64("conn", c.Conn.ID()).Str("user", u.Name.String()).Str("mechanism", string(m)).Msg("logged in")
	return nil
}

// loginFailed notes a failed attempt, holds the answer back if there were many, and
// returns the error, which does not say why.
// Errors: AuthenticationFailed (18).
func (c *Call) loginFailed(n auth.Name, m auth.Mechanism, reason string) error {
	now := c.Cluster.Now()
	delay := max(c.slowdown.Failed(slowKey(c.Conn.Remote()), now), c.slowdown.Failed(n.String(), now))
	if missed, ok := c.loginLog.Admit(now); ok {
		e := c.Log.Warn().Int64("conn", c.Conn.ID()).Stringer("remote", c.Conn.Remote()).Str("user", n.String()).
			Str("mechanism", string(m)).Str("reason", reason)
		if missed > 0 {
			e = e.Int64("notLogged", missed)
		}
		e.Msg("login failed")
	}
	if delay > 0 {
		if err := wait(c.Ctx, delay); err != nil {
			return err
		}
	}
	return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
}

// slowKey is what failures of one client are counted by: its host.
func slowKey(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return a.Network()
}

// firstUser reports a client on this machine that may make the first user or role,
// as nobody could log in before there is one.
// Manual: core/localhost-exception.
func (c *Call) firstUser() bool {
	if !c.Def.Facts.has(FirstUser) {
		return false
	}
	return c.DB == "admin" && c.Auth.Empty() && isLocal(c.Conn.Remote())
}

func isLocal(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}

// runLogout forgets the user of the connection.
// Manual: reference/command/logout.
func runLogout(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Peer.sasl = nil
	c.setLogin(nil)
	return nil
}
