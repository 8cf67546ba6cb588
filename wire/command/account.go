package command

import (
	"net"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
)

// account holds the name under which the server counts the work of a connection, so that processors and memory are
// shared fairly: that of the logged-in user, or else of the client's application, or else the client's address.
type account struct {
	name   string
	user   collection.User   // the user from which the name was made, or the zero User
	app    string            // the application from which the name was made if there is no user
	memory *ratelimit.Memory // the user's share of WorkMemory
	writes *ratelimit.Memory // the user's share of WriteMemory
	server *Server
}

// refresh returns the account of a connection. If a login, a logout or a first hello has changed the user or the
// application, refresh first replaces the account. Only the goroutine of the connection calls refresh.
func (a *account) refresh(s *Server, c wire.Conn, p *ConnState) *account {
	if a.name != "" && a.user == p.User && a.app == p.AppName {
		return a
	}
	a.leave()
	a.user, a.app, a.server = p.User, p.AppName, s
	switch {
	case !p.User.IsZero():
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
	c.ChargeTo(a.name)
	return a
}

// leave removes the connection from the account.
func (a *account) leave() {
	if a.name != "" {
		a.server.users.Leave(a.name)
		a.server.writers.Leave(a.name)
	}
	a.name, a.memory, a.writes = "", nil, nil
}

// Account returns the name of the account to which the server counts the work of the command, for fair scheduling.
func (c *Call) Account() string {
	return c.ConnState.account.refresh(c.Server, c.Conn, c.ConnState).name
}
