package shards

import (
	"sync/atomic"

	"github.com/cantledb/cantle/wire/command"
)

// Config is what only this room is told.
type Config struct {
	// Balance switches automatic splits on or off; nil = there are none.
	Balance func(on bool)
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	balancerOff atomic.Bool // balancerStop was called
	shapes      shapes
	zones       zoneShards
	planned     plannedZones
	analyzers   queryAnalyzers
	settings    configSettings
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
