package sessions

import "github.com/cantledb/cantle/wire/command"

// join hands the room's answers to the server.
func (s *State) join() {
	s.AddVirtual(command.Virtual{DB: "config", Coll: "system.sessions", Docs: s.allSessionDocs, OfMembers: true})
	s.AddSources([]command.StageSource{
		{Stage: "$listLocalSessions", Docs: s.localSessionDocs},
		{Stage: "$listSessions", Docs: s.listSessionDocs},
	})
}
