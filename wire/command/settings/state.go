package settings

import (
	"sync/atomic"

	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/kept"
)

// Config is what only this room is told.
type Config struct {
	// Establish changes how fast connections may be opened; nil = they may.
	Establish func(wire.Establishment)
	// ReplyCharge adds requestCharge to every reply, not only on the Cosmos listener; it
	// is the parameter of that name when the server starts.
	ReplyCharge bool
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	params          parameters      // params are the values of the server parameters
	clusterSettings clusterSettings // clusterSettings are the values of the cluster parameters
	rwDefaults      rwDefaults      // rwDefaults are the concerns of commands that have none
	fcv             kept.Setting    // fcv is the feature compatibility version
	attached        atomic.Bool     // attached says that the server stands above its cluster
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
