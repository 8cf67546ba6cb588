package access

import "github.com/cantledb/cantle/wire/virtual"

// join registers the Authenticator and virtual collections of the room at the server.
func (s *State) join() {
	s.Auth.OnDropped(s.endUser)
	s.Authenticator = s
	s.Virtual.Add(
		virtual.Collection{DB: "admin", Coll: "system.roles", Docs: s.roleDocs, WhenFilled: true},
		virtual.Collection{DB: "admin", Coll: "system.users", Docs: s.userDocs, WhenFilled: true},
	)
}
