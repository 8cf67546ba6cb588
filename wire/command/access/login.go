package access

import (
	"errors"
	"net"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// Login returns the logged-in user of the connection with the current privileges; nil without a login, or if the user
// was dropped. If users or roles have changed since the last command, it looks the privileges up again.
// Errors: the reason why the command must end.
func (s *State) Login(c *command.Call) (*command.Login, error) {
	p := c.ConnState
	l := p.Login
	if l == nil || l.Version == c.Server.Auth.Version() {
		return l, nil
	}
	version := c.Server.Auth.Version()
	u := s.loginUser(c, l.Name)
	if u == nil || u.ID != l.ID {
		setLogin(c, nil) // dropped
		return nil, nil
	}
	n, err := s.newLogin(c, u, l.Mechanism, version)
	if err != nil {
		return nil, err // the next command retries the lookup
	}
	setLogin(c, n)
	return n, nil
}

// loginUser returns the user with a name, if the connection may log in as that user; nil otherwise.
func (s *State) loginUser(c *command.Call, n auth.Name) *auth.User { return s.users(c).User(n) }

// users returns the users as which the connection may log in.
func (s *State) users(c *command.Call) peerUsers {
	if c.Strict() {
		return peerUsers{c.Server, s.Account}
	}
	return peerUsers{c.Server, nil}
}

// peerUsers holds the users as which a connection may log in: the users of the directory, and on the Cosmos listener
// also the account.
type peerUsers struct {
	server  *command.Server
	account *Account // nil for other listeners, or without an account
}

// User implements auth.Users. The account exists in every database except $external.
func (p peerUsers) User(n auth.Name) *auth.User {
	if a := p.account; a != nil && n.Name == a.name.Name && n.DB != auth.External {
		return a.user(p.server)
	}
	return p.server.Auth.User(n)
}

// newLogin returns a Login of the user u with its computed roles and privileges. version is the directory's version,
// which the caller read before it looked u up: so a change in between is noticed at the next command.
// Errors: the reason why the command must end.
func (s *State) newLogin(c *command.Call, u *auth.User, m auth.Mechanism, version uint64) (*command.Login, error) {
	l := &command.Login{Name: u.Name, ID: u.ID, Mechanism: m, Version: version, Account: s.Account != nil && u.ID == s.Account.id}
	var err error
	if l.Roles, err = c.Server.Auth.Inherited(c.Env(), u.Roles); err != nil {
		return nil, err
	}
	l.RequestMax = u.RequestMax
	if l.RoleRequestMax, err = c.Server.Auth.RoleRequestMax(c.Env(), u.Roles); err != nil {
		return nil, err
	}
	privileges, err := c.Server.Auth.Privileges(c.Env(), u.Roles)
	if err != nil {
		return nil, err
	}
	l.Grants = auth.NewGrants(privileges)
	b := bson.NewArrayBuilder(nil)
	for _, r := range l.Roles {
		b.BeginDoc("")
		b.String("_id", r.DB+"."+r.Name)
		b.String("role", r.Name)
		b.String("db", r.DB)
		b.End()
	}
	l.RolesValue = b.Doc().ArrayValue()
	return l, nil
}

// setLogin sets the user of the connection; nil logs out.
func setLogin(c *command.Call, l *command.Login) {
	p := c.ConnState
	p.Login, p.User = l, l.User()
	p.Owner = session.OwnerOf(p.User.Name, p.User.DB)
	c.Conn.SetUnauthenticated(c.Server.RequireAuth && l == nil)
}

// logIn makes an authenticated user the user of the connection. If the user was dropped or got another password
// during the authentication, it fails; if that user is logged in already, it does nothing.
// Errors: AuthenticationFailed (18), ProtocolError (17) if another user is logged in.
func (s *State) logIn(c *command.Call, u *auth.User, m auth.Mechanism) error {
	if l, err := s.Login(c); err != nil {
		return err
	} else if l != nil {
		if l.Name == u.Name && l.ID == u.ID {
			return nil
		}
		return mongoerr.New(mongoerr.ProtocolError, "Another user is already authenticated; a connection belongs to one user until it logs out")
	}
	version, proven := c.Server.Auth.Version(), u
	if u = s.loginUser(c, u.Name); u == nil || !u.Same(proven, m) {
		return s.loginFailed(c, proven.Name, m, "it was dropped or has another password since the login began")
	}
	l, err := s.newLogin(c, u, m, version)
	if err != nil {
		return err
	}
	setLogin(c, l)
	s.countLogin(c, m)
	c.Server.Log.Debug().Int64("conn", c.Conn.ID()).Str("user", u.Name.String()).Str("mechanism", string(m)).Msg("logged in")
	return nil
}

// checkProof checks the proof with which a client logs in, after a delay if earlier attempts failed. look returns the
// user to which the proof belongs, or the reason why the proof is invalid. The user's address restrictions must also
// allow the connection.
// Errors: AuthenticationFailed (18), the reason why the command must end.
func (s *State) checkProof(c *command.Call, n auth.Name, m auth.Mechanism, look func() (u *auth.User, reason string)) (*auth.User, error) {
	attempt, err := s.loginThrottle.Enter(c.Ctx, n, addressKey(c.Conn.Remote()))
	if errors.Is(err, auth.ErrTooMany) {
		s.logFailure(c, n, m, "not looked at, as there were too many failed attempts")
		return nil, mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed: there were too many failed attempts, so this one was not looked at; try again in some seconds")
	}
	if err != nil {
		return nil, err
	}
	proven := false
	defer func() { attempt.Leave(proven) }()
	u, reason := look()
	if reason != "" {
		return nil, s.loginFailed(c, n, m, reason)
	}
	restrictions, err := c.Server.Auth.Restrictions(c.Env(), u)
	if err != nil {
		return nil, err
	}
	for _, r := range restrictions {
		if !r.Allow(c.Conn.Remote(), c.Conn.Local()) {
			return nil, s.loginFailed(c, n, m, "its authentication restrictions do not allow this address")
		}
	}
	proven = true
	return u, nil
}

// loginFailed writes the reason of a failed login to the log, and returns an error that does not reveal the reason.
// Errors: AuthenticationFailed (18).
func (s *State) loginFailed(c *command.Call, n auth.Name, m auth.Mechanism, reason string) error {
	s.logFailure(c, n, m, reason)
	return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
}

// logFailure writes the reason of a failed attempt into the log, as far as loginLog admits it.
func (s *State) logFailure(c *command.Call, n auth.Name, m auth.Mechanism, reason string) {
	if missed, ok := s.loginLog.Admit(c.Cluster.Now()); ok {
		e := c.Server.Log.Warn().Int64("conn", c.Conn.ID()).Stringer("remote", c.Conn.Remote()).Str("user", n.String()).
			Str("mechanism", string(m)).Str("reason", reason)
		if missed > 0 {
			e = e.Int64("notLogged", missed)
		}
		e.Msg("login failed")
	}
}

// addressKey returns the key under which failed logins of a client's address are counted: the host, or for IPv6 its
// network of 64 bits, because a host can choose any address of that network. All clients without a TCP address have
// one key for each kind of network.
func addressKey(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	switch {
	case !ok:
		return a.Network()
	case t.IP.To4() == nil:
		return t.IP.Mask(net.CIDRMask(64, 128)).String()
	}
	return t.IP.String()
}

// FirstUser reports whether the client may create the first user or role without a login: the command allows it and
// runs on admin, no user and no role exists yet, and the client has a loopback address or no network address.
// Manual: core/localhost-exception.
func (s *State) FirstUser(c *command.Call) bool {
	if !c.Def.Facts.Has(command.FirstUser) {
		return false
	}
	return c.DB == "admin" && c.Server.Auth.Empty() && command.Local(c.Conn.Remote())
}
