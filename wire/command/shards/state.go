package shards

import (
	"sync/atomic"

	"github.com/cantledb/cantle/shard/ledger"
	"github.com/cantledb/cantle/shard/traffic"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// Config holds the parameters of this room.
type Config struct {
	// Balance switches the balancer's automatic splits and merges on or off; nil if the server has no balancer.
	Balance func(on bool)
	// Backups makes backups; nil if there are no files to copy.
	Backups *backup.Runner
	// Advertised holds functions for the document that this server publishes to its peers.
	Advertised Advertised
}

// State is the room of the sharding commands, with the state that they share. It is safe for concurrent use.
type State struct {
	*command.Server
	Config
	balancer    savedsettings.Setting // stores balancerOff
	balancerOff atomic.Bool           // the balancer is switched off
	shapes      shapes                // charges of commands by their shape
	zones       zoneShards            // the shards of each zone
	planned     plannedZones          // the zones of collections without a shard key
	analyzers   queryAnalyzers        // sample the queries of collections
	traffic     traffic.Recorder      // a sample of the statements of the last hour
	repeats     repeats               // statements that budgets refused lately
	dearest     dearest               // of the shapes of each collection
	opsRate     opsRate               // operations per second of this server
	settings    configSettings        // the documents of config.settings except the balancer's
	ledger      *ledger.Ledger        // what commands have cost, by hour
}

// New returns the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.ledger = s.newLedger()
	s.join()
	return s
}
