package sessions

import "github.com/cantledb/cantle/wire/command"

// runRefreshSessions extends the timeout of sessions.
// Manual: reference/command/refreshSessions.
func runRefreshSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "refreshSessionsFromClient")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Server.Sessions.Touch(id, c.Account()); err != nil {
			return err
		}
	}
	return nil
}
