package sessions

import "github.com/cantledb/cantle/wire/command"

// State is the room; it has only the server's state.
type State struct{ *command.Server }

// New returns the room, and joins it to the server.
func New(server *command.Server) *State {
	s := &State{server}
	s.join()
	return s
}
