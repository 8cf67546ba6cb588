package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
)

// verbosity is how much explain tells.
type verbosity uint8

const (
	planOnly verbosity = iota
	withStats
	allPlans
)

// explained is a command under explanation: the read that it begins with, and
// what it does with the rows.
type explained struct {
	ns      collection.Namespace
	find    plan.Find
	keys    []string // fields read, for a count or distinct
	only    bool     // keys says all that is read
	stage   string   // COUNT, UPDATE, DELETE or "" above the read
	skipped int64    // of a count
	upsert  bool
	modify  *cluster.Modify // of a write
	// pipeline is that of an aggregate or of a read of a view; nil for others.
	pipeline *agg.Outline
	command  bson.Raw
	level    verbosity
}
