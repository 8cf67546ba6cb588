// Package explained says what a command under explanation is: the rooms with queries
// make it of their commands, and the room of the plans answers for it.
package explained

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
)

// Verbosity is how much explain tells.
type Verbosity uint8

// The verbosities: queryPlanner, executionStats, allPlansExecution.
const (
	PlanOnly Verbosity = iota
	WithStats
	AllPlans
)

// Explained is a command under explanation: the read that it begins with, and
// what it does with the rows.
type Explained struct {
	Ns      collection.Namespace
	Find    plan.Find
	Keys    []string // fields read, for a count or distinct
	Only    bool     // Keys says all that is read
	Stage   string   // COUNT, UPDATE, DELETE or "" above the read
	Skipped int64    // of a count
	Upsert  bool
	Modify  *cluster.Modify // of a write
	// Pipeline is that of an aggregate or of a read of a view; nil for others.
	Pipeline *agg.Outline
	Command  bson.Raw
	Level    Verbosity
}
