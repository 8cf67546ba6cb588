package settings

import (
	"sync/atomic"

	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// Config holds the parameters of this room.
type Config struct {
	// SetConnRateLimit changes the rate limit of new connections; nil if there is none.
	SetConnRateLimit func(wire.ConnRateLimit)
	// ReplyCharge adds the field requestCharge to every reply, not only on the Cosmos listener; it is the initial
	// value of the parameter replyCharge.
	ReplyCharge bool
}

// State is the room of the commands on settings, with the state that they share. It is safe for concurrent use.
type State struct {
	*command.Server
	Config
	params          parameters            // the values of the server parameters
	clusterSettings clusterSettings       // the values of the cluster parameters
	rwDefaults      rwDefaults            // the default concerns of commands without one
	fcv             savedsettings.Setting // stores the feature compatibility version
	attached        atomic.Bool           // the server has been attached to its cluster
}

// New returns the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
