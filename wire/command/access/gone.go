package access

import (
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/session"
)

// partFrom ends what a user who is no more has left open: cursors, transactions, sessions. A later
// user of the same name has nothing of it. Connections find out with their next command.
func (s *State) partFrom(u *auth.User) {
	s.Cursors.KillUser(u.Key())
	s.Sessions.EndOf(session.OwnerOf(u.Name.Name, u.DB))
}
