package access

import (
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// runConnectionStatus returns the logged-in user of the connection.
// Manual: reference/command/connectionStatus.
func (s *State) runConnectionStatus(c *command.Call) error {
	privileges := false
	err := c.ReadArgs(arguments.Bool("showPrivileges", &privileges))
	if err != nil {
		return err
	}
	l, err := s.Login(c)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginDoc("authInfo")
	var users, roles []auth.Name
	var grants *auth.Grants
	if l != nil {
		users, roles, grants = []auth.Name{l.Name}, l.Roles, l.Grants
	}
	auth.AppendNames(b, "authenticatedUsers", "user", users)
	auth.AppendNames(b, "authenticatedUserRoles", "role", roles)
	if privileges {
		appendPrivileges(b, "authenticatedUserPrivileges", grants.Privileges())
	}
	b.End()
	b.Binary("uuid", 4, c.ConnState.UUID[:])
	return nil
}
