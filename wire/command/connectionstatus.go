package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
)

// runConnectionStatus tells who the client is.
// Manual: reference/command/connectionStatus.
func runConnectionStatus(c *Call) error {
	privileges := false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		if name != "showPrivileges" {
			return false, nil
		}
		privileges, err = c.boolArg(name, v)
		return true, err
	})
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginDoc("authInfo")
	var users, roles []auth.Name
	var grants *auth.Grants
	if l := c.currentLogin(); l != nil {
		users, roles, grants = []auth.Name{l.name}, l.roles, l.grants
	}
	auth.AppendNames(b, "authenticatedUsers", "user", users)
	auth.AppendNames(b, "authenticatedUserRoles", "role", roles)
	if privileges {
		appendPrivileges(b, "authenticatedUserPrivileges", grants.Privileges())
	}
	b.End()
	b.Binary("uuid", 4, c.Peer.uuid[:])
	return nil
}

// runWhatsMyURI tells the client its address as seen from here. Unknown
// arguments are ignored. Manual: reference/command/whatsmyuri.
func runWhatsMyURI(c *Call) error {
	c.Reply.String("you", c.Conn.Remote().String())
	return nil
}
