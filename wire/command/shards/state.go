package shards

import (
	"sync/atomic"

	"github.com/cantledb/cantle/shard/traffic"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/kept"
)

// Config is what only this room is told.
type Config struct {
	// Balance switches automatic splits on or off; nil = there are none.
	Balance func(on bool)
	// Backups makes backups; nil = there is nothing to copy.
	Backups *backup.Runner
	// Advertised is what other servers are told of this one.
	Advertised Advertised
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	balancer    kept.Setting     // balancer keeps balancerOff
	balancerOff atomic.Bool      // balancerOff says that balancerStop was called
	shapes      shapes           // shapes are what commands cost by their shape
	zones       zoneShards       // zones are the shards of each zone
	planned     plannedZones     // planned are the zones of collections without a shard key
	analyzers   queryAnalyzers   // analyzers sample the queries of collections
	traffic     traffic.Recorder // traffic is a sample of the statements of the last hour
	pace        pace             // pace of this server's operations
	settings    configSettings   // settings are the documents of config.settings beside the balancer's
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
