package failpoint

import "github.com/cantledb/cantle/wire/command"

// State is the room of fail points: it holds those that are active. It is safe for concurrent use.
type State struct {
	*command.Server
	failPoints failPoints // the fail points that are on
	jobKill    jobKill    // the fail point that kills the process
}

// New returns the room, and joins it to the server.
func New(server *command.Server) *State {
	s := &State{Server: server}
	s.join()
	return s
}
