package access

import "github.com/cantledb/cantle/wire/virtual"

// join registers the room at the server: as its Authenticator, and with the virtual collections of users and roles.
func (s *State) join() {
	s.Auth.OnDropped(s.endUser)
	s.Authenticator = s
	s.Virtual.Add(
		virtual.Collection{DB: "admin", Coll: "system.roles", Docs: s.roleDocs, WhenFilled: true},
		virtual.Collection{DB: "admin", Coll: "system.users", Docs: s.userDocs, WhenFilled: true},
	)
}
