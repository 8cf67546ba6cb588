package command

import (
	"github.com/cantledb/cantle/bson"
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
	emptyArray(b, "authenticatedUsers")
	emptyArray(b, "authenticatedUserRoles")
	if privileges {
		emptyArray(b, "authenticatedUserPrivileges")
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

// runLogout forgets the user of the connection.
// Manual: reference/command/logout.
func runLogout(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Peer.user = ""
	return nil
}
