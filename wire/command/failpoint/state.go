package failpoint

import "github.com/cantledb/cantle/wire/command"

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	failPoints failPoints // failPoints are those that are on
	jobKill    jobKill    // jobKill is the one that ends the process
}

// New makes the room, and joins it to the server.
func New(server *command.Server) *State {
	s := &State{Server: server}
	s.join()
	return s
}
