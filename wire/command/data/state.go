package data

import "github.com/cantledb/cantle/wire/command"

// State is the room: what its commands share, which is the server's.
type State struct {
	*command.Server
	pace pace // of change streams
}

// New makes the room.
func New(server *command.Server) *State { return &State{Server: server} }
