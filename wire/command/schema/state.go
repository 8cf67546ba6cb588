package schema

import "github.com/cantledb/cantle/wire/command"

// State is the room: what its commands share, which is the server's.
type State struct{ *command.Server }

// New makes the room, and joins it to the server.
func New(server *command.Server) *State {
	s := &State{server}
	s.join()
	return s
}
