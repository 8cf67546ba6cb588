package command

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/operations"
)

// connCaller is the caller of a connection, with the client and the user from which it was made.
type connCaller struct {
	*ratelimit.Caller
	client *operations.Client
	user   collection.User
}

// callerOf returns the application, the driver and the user of a connection. It is made again when the client has
// introduced itself or another user has logged in.
func (s *Server) callerOf(c *ConnState) *ratelimit.Caller {
	x, client := c.caller.Load(), c.Client.Load()
	if x != nil && x.client == client && x.user == c.User {
		return x.Caller
	}
	app, driver := "", ""
	if client != nil {
		app, driver = client.AppName, client.Driver
	}
	x = &connCaller{s.callers.Of(app, driver, c.User.String()), client, c.User}
	c.caller.Store(x)
	return x.Caller
}

// LastUser returns the user of the connection's last command, the zero User for none. Safe for concurrent use.
func (c *ConnState) LastUser() collection.User {
	if x := c.caller.Load(); x != nil {
		return x.user
	}
	return collection.User{}
}

// MaySeeCallers reports whether a user may see the applications and users from which the requests of others come: that
// needs the same privilege as their operations in currentOp, which the role clusterMonitor has.
func (s *Server) MaySeeCallers(l *Login) bool {
	return !s.RequireAuth || l.Allows().MayCluster(auth.Inprog)
}
