package sessions

import (
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runStartSession starts a session. Unknown arguments are ignored.
// Manual: reference/command/startSession.
func runStartSession(c *command.Call) error {
	id := session.NewID(c.ConnState.Owner)
	if err := c.Server.Sessions.Touch(id, c.Account()); err != nil {
		return err
	}
	id.Append(c.Reply, "id")
	c.Reply.Int32("timeoutMinutes", int32(c.Server.Sessions.IdleMax().Minutes()))
	return nil
}
