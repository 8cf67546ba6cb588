// Package rooms lists the packages of commands, called rooms, and assembles a command
// server from them.
//
//	access     logins, users, roles
//	data       find … bulkWrite, cursors, mapReduce
//	failpoint  failures on demand, for tests
//	plans      explain, the plan cache, query settings
//	schema     databases, collections, views, indexes
//	sessions   sessions and the ends of transactions
//	settings   parameters and defaults
//	shards     partitions, throughput, zones, custom actions
//	status     hello, serverStatus, currentOp, the profiler, metrics
//
// A room imports wire/command, the chain around every command, and no other room. If a
// room needs something of another room, it calls an interface of the chain.
package rooms

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/command/access"
	"github.com/cantledb/cantle/wire/command/data"
	"github.com/cantledb/cantle/wire/command/failpoint"
	"github.com/cantledb/cantle/wire/command/plans"
	"github.com/cantledb/cantle/wire/command/schema"
	"github.com/cantledb/cantle/wire/command/sessions"
	"github.com/cantledb/cantle/wire/command/settings"
	"github.com/cantledb/cantle/wire/command/shards"
	"github.com/cantledb/cantle/wire/command/status"
)

// Config holds the settings of the chain and of single rooms.
type Config struct {
	command.Config
	Access   access.Config
	Settings settings.Config
	Shards   shards.Config
	Status   status.Config
}

// Server runs all commands of clients; it is the Handler that wire/server calls. Safe for concurrent use.
type Server struct {
	*command.Server
	Status *status.State // its Metrics are for Prometheus
}

// New makes a Server with all rooms.
func New(cfg Config) *Server {
	s := &Server{Server: command.New(cfg.Config)}
	s.Status = status.New(s.Server, cfg.Status)
	s.Add(
		access.New(s.Server, cfg.Access),
		data.New(s.Server),
		failpoint.New(s.Server),
		plans.New(s.Server),
		schema.New(s.Server),
		sessions.New(s.Server),
		settings.New(s.Server, cfg.Settings),
		shards.New(s.Server, cfg.Shards),
		s.Status,
	)
	return s
}

// Commands returns the rows of all commands in alphabetical order, for lists of commands such as the documentation.
func Commands() []command.Def {
	var all []command.Def
	for _, room := range []command.Room{
		&access.State{}, &data.State{}, &failpoint.State{}, &plans.State{}, &schema.State{},
		&sessions.State{}, &settings.State{}, &shards.State{}, &status.State{},
	} {
		all = append(all, room.Commands()...)
	}
	slices.SortFunc(all, func(a, b command.Def) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
