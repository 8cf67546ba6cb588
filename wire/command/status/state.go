package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// Config is what only this room is told.
type Config struct {
	// MemoryShares are shown by serverStatus.
	MemoryShares []MemoryShare
	// CommandLine is the program's arguments, for getCmdLineOpts.
	CommandLine []string
	// Connections counts connections; nil = unknown.
	Connections func() wire.ConnStats
	// Recent returns the last log lines, oldest first, and how many there have been since
	// the start, for getLog; nil = none.
	Recent func() (lines []string, total int)
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	seconds     *prometheus.HistogramVec // by command; nil unless Metrics was called
	latencies   latencies
	usage       usages
	profiler    profiler
	fsyncLock   fsyncLock
	autoCompact autoCompact
	processID   [12]byte // of topologyVersion
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg, processID: bson.NewObjectID()}
	s.join()
	return s
}
