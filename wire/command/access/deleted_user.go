package access

import (
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/session"
)

// endUser ends the cursors, transactions and sessions of a user that was removed, so that a later user of the same
// name cannot continue them. The user's connections are logged out at their next command.
func (s *State) endUser(u *auth.User) {
	s.Cursors.KillUser(u.Key())
	s.Sessions.EndOf(session.OwnerOf(u.Name.Name, u.DB))
}
