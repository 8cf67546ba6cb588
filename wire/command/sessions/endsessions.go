package sessions

import "github.com/cantledb/cantle/wire/command"

// runEndSessions ends sessions before their timeout.
// Manual: reference/command/endSessions.
func runEndSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "endSessionsFromClient")
	if err != nil {
		return err
	}
	c.Server.Sessions.End(ids...)
	return nil
}
