package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// Config holds the parameters of this room.
type Config struct {
	// MemoryShares holds the parts of the server's memory limit, which serverStatus shows.
	MemoryShares []MemoryShare
	// CommandLine is the program's arguments, for getCmdLineOpts.
	CommandLine []string
	// Console returns the address of the web console, for getCmdLineOpts; nil or "" if the server has no console.
	Console func() string
	// MetricsPage returns the address of the metrics for Prometheus, for getCmdLineOpts; nil or "" if there is none.
	MetricsPage func() string
	// Connections counts connections; nil if the listener's counts are not available.
	Connections func() wire.ConnStats
	// Recent returns the last log lines for getLog, the oldest first, and the number of lines since the start; nil if
	// no lines are stored.
	Recent func() (lines []string, total int)
	// Shutdown requests the shutdown of the server, and returns at once; nil if clients may not stop the server.
	Shutdown func()
	// Backups makes backups; nil if there are no files to copy.
	Backups *backup.Runner
	// LogValues lets the log of slow commands show values of filters and changes.
	LogValues bool
	// Profiling holds the initial settings of the profiler; nil for MongoDB's defaults.
	Profiling *Profiling
}

// State is the room of the commands that report the server's status, with the state that they share. It is safe for
// concurrent use.
type State struct {
	*command.Server
	Config
	seconds     *prometheus.HistogramVec // durations by command; nil unless Metrics was called
	latencies   latencies                // durations by kind of command
	queryMemory queryMemory              // the memory of commands
	usage       usages                   // the counters of top for each collection
	profiler    profiler                 // the settings of the profiler
	slowWatch   slowWatch                // finds commands that run for long
	fsyncLock   fsyncLock                // blocks writes while it is held
	writeBlock  writeBlock               // refuses writes of users while it is on
	autoCompact autoCompact              // the arguments of autoCompact
	processID   [12]byte                 // the part of topologyVersion that changes at a restart
}

// New returns the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg, processID: bson.NewObjectID()}
	s.join()
	return s
}
