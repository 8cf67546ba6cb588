package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// Config is what only this room is told.
type Config struct {
	// MemoryShares are shown by serverStatus.
	MemoryShares []MemoryShare
	// CommandLine is the program's arguments, for getCmdLineOpts.
	CommandLine []string
	// Console is where the console is found, for getCmdLineOpts; nil or "" = nowhere.
	Console func() string
	// Connections counts connections; nil = unknown.
	Connections func() wire.ConnStats
	// Recent returns the last log lines, oldest first, and how many there have been since
	// the start, for getLog; nil = none.
	Recent func() (lines []string, total int)
	// Shutdown asks whoever runs the server to stop it, and returns at once; nil = no client
	// may ask.
	Shutdown func()
	// Backups makes backups; nil = there is nothing to copy.
	Backups *backup.Runner
	// Profiling is how the profiler begins; nil = as MongoDB's does.
	Profiling *Profiling
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	seconds     *prometheus.HistogramVec // seconds are taken by command; nil unless Metrics was called
	latencies   latencies                // latencies are how long commands took
	usage       usages                   // usage is what top shows of each collection
	profiler    profiler                 // profiler is what is recorded
	slowWatch   slowWatch                // slowWatch finds commands that go on for long
	fsyncLock   fsyncLock                // fsyncLock keeps writes out while it is held
	writeBlock  writeBlock               // writeBlock refuses what users write while it is on
	autoCompact autoCompact              // autoCompact is what was asked for
	processID   [12]byte                 // processID is the part of topologyVersion that a restart changes
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg, processID: bson.NewObjectID()}
	s.join()
	return s
}
