package command

import (
	"net"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
)

// account is whom the server counts a connection's work for, so that users take turns and
// have fair parts: the user who has logged in, or else the application by its name, or else
// the address.
type account struct {
	name   string
	user   collection.User   // the name was made of, or else
	app    string            // of this
	memory *ratelimit.Memory // the user's part of what blocking operators share
	writes *ratelimit.Memory // the user's part of what uncommitted writes share
	server *Server
}

// of returns the account of a connection, which changes with logins. Only the connection's
// own goroutine calls it.
func (a *account) of(s *Server, c wire.Conn, p *Peer) *account {
	if a.name != "" && a.user == p.User && a.app == p.AppName {
		return a
	}
	a.leave()
	a.user, a.app, a.server = p.User, p.AppName, s
	switch {
	case !p.User.Nobody():
		a.name = "user " + p.User.Key()
	case p.AppName != "":
		a.name = "application " + p.AppName
	default:
		host, _, err := net.SplitHostPort(c.Remote().String())
		if err != nil {
			host = c.Remote().String()
		}
		a.name = "address " + host
	}
	a.memory, a.writes = s.users.Enter(a.name), s.writers.Enter(a.name)
	c.CountFor(a.name)
	return a
}

// leave takes the connection out of the account.
func (a *account) leave() {
	if a.name != "" {
		a.server.users.Leave(a.name)
		a.server.writers.Leave(a.name)
	}
	a.name, a.memory, a.writes = "", nil, nil
}

// Account names whom the command's work is counted for.
func (c *Call) Account() string { return c.Peer.account.of(c.Server, c.Conn, c.Peer).name }
