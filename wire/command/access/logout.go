package access

import "github.com/cantledb/cantle/wire/command"

// runLogout forgets the user of the connection.
// Manual: reference/command/logout.
func runLogout(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Peer.SASL = nil
	setLogin(c, nil)
	return nil
}
