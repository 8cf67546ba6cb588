// Package explained describes the command inside an explain command. The packages of commands with queries make the
// description, and the package of plans answers explain from it.
package explained

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
)

// Verbosity is the verbosity of explain.
type Verbosity uint8

// The verbosities: queryPlanner, executionStats, allPlansExecution.
const (
	PlanOnly Verbosity = iota
	WithStats
	AllPlans
)

// Explained describes a command that is explained, not run: the read with which it begins, and what it does with the
// rows.
type Explained struct {
	Ns      collection.Namespace
	Find    plan.Find
	Keys    []string // fields read, for a count or distinct
	Only    bool     // only the fields of Keys are read
	Stage   string   // COUNT, UPDATE, DELETE or "" above the read
	Skipped int64    // of a count
	Upsert  bool
	Modify  *cluster.Modify // of a write
	// Pipeline is the pipeline of an aggregate command, or of a read of a view; nil for all other commands.
	Pipeline *agg.Outline
	Command  bson.Raw
	Level    Verbosity
}
