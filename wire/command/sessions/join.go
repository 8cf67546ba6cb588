package sessions

import "github.com/cantledb/cantle/wire/virtual"

// join registers the room at the server: its virtual collection and stages, and the function that answers calls of
// peers to kill sessions.
func (s *State) join() {
	s.Virtual.Add(virtual.Collection{DB: "config", Coll: "system.sessions", Docs: s.allSessionDocs, OfMembers: true})
	s.Cluster.Peers.Handle(killSessionsKind, s.answerKill)
	s.Stages.Add(
		virtual.Stage{Name: "$listLocalSessions", Docs: s.localSessionDocs},
		virtual.Stage{Name: "$listSessions", Docs: s.listSessionDocs},
	)
}
