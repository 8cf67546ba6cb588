package sessions

import "github.com/cantledb/cantle/wire/virtual"

// join registers the virtual collection, the call and the stages of the room at the server.
func (s *State) join() {
	s.Virtual.Add(virtual.Collection{DB: "config", Coll: "system.sessions", Docs: s.allSessionDocs, OfMembers: true})
	s.Cluster.Peers.Handle(killSessionsKind, s.answerKill)
	s.Stages.Add(
		virtual.Stage{Name: "$listLocalSessions", Docs: s.localSessionDocs},
		virtual.Stage{Name: "$listSessions", Docs: s.listSessionDocs},
	)
}
