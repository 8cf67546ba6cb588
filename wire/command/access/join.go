package access

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/virtual"
)

// join registers the hooks and virtual collections of the room at the server.
func (s *State) join() {
	s.Auth.OnDropped(s.endUser)
	s.Hooks.Login = s.currentLogin
	s.Hooks.FirstUser = func(c *command.Call) bool { return firstUser(c) }
	s.Hooks.Speculate = func(c *command.Call, first bson.Value) { s.speculate(c, first) }
	s.Hooks.Mechanisms = func(c *command.Call, user auth.Name) { s.appendUserMechanisms(c, user) }
	s.Hooks.Security = func(c *command.Call, b *bson.Builder) { s.statusSecurity(c, b) }
	s.Virtual.Add(
		virtual.Collection{DB: "admin", Coll: "system.roles", Docs: s.roleDocs, WhenFilled: true},
		virtual.Collection{DB: "admin", Coll: "system.users", Docs: s.userDocs, WhenFilled: true},
	)
}
