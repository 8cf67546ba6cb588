package data

import "github.com/cantledb/cantle/wire/command"

// State is the room of the commands on documents: it holds the server and the state that these commands share.
type State struct {
	*command.Server
	pace pace // of change streams
}

// New returns the room.
func New(server *command.Server) *State { return &State{Server: server} }
