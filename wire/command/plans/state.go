package plans

import "github.com/cantledb/cantle/wire/command"

// State is the room of the commands on query plans, with the state that they share. It is safe for concurrent use.
type State struct {
	*command.Server
	querySettings querySettings // the settings of all shapes
	watch         runawayWatch
	stats         queryStats
}

// New returns the room, and joins it to the server.
func New(server *command.Server) *State {
	s := &State{Server: server}
	s.join()
	return s
}
