package access

import "github.com/cantledb/cantle/wire/command"

// runLogout logs the user of the connection out.
// Manual: reference/command/logout.
func runLogout(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.ConnState.SASL = nil
	setLogin(c, nil)
	return nil
}
