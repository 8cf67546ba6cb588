package command

import (
	"net"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
)

// account identifies the user to whose account a connection's work is charged, for fair scheduling and fair
// shares of memory: the logged-in user, or else the application by its name, or else the client's address.
type account struct {
	name   string
	user   collection.User   // the user from which the name was made, or the zero User
	app    string            // the application from which the name was made if there is no user
	memory *ratelimit.Memory // the user's share of WorkMemory
	writes *ratelimit.Memory // the user's share of WriteMemory
	server *Server
}

// refresh returns the account of a connection, and replaces it after a login. Only the connection's own goroutine
// calls it.
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

// Account returns the name of the account for which the command's work is counted.
func (c *Call) Account() string {
	return c.ConnState.account.refresh(c.Server, c.Conn, c.ConnState).name
}
