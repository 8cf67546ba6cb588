package sessions

import (
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/session"
)

// runKillSessions aborts what sessions do now; without any, all of the user's.
// Manual: reference/command/killSessions.
func runKillSessions(c *command.Call) error {
	ids, err := sessionIDs(c, "killSessionsFromClient")
	if err != nil {
		return err
	}
	own := c.Peer.Owner
	killSessions(c, func(id session.ID) bool {
		if len(ids) == 0 {
			return id.Owner == own
		}
		for _, k := range ids {
			if k == id {
				return true
			}
		}
		return false
	})
	return nil
}

// killSessions aborts the transactions, commands and cursors of sessions; the
// command that asks for it goes on.
func killSessions(c *command.Call, match func(session.ID) bool) {
	for _, op := range c.Server.Ops.List() {
		if op.ID != c.Running.ID && !op.Session.IsZero() && match(op.Session) {
			op.Interrupt(session.ErrKilled)
		}
	}
	c.Server.Sessions.Kill(match)
}
