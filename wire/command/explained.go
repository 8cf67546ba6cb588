package command

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
	Only    bool     // keys says all that is read
	Stage   string   // COUNT, UPDATE, DELETE or "" above the read
	Skipped int64    // of a count
	Upsert  bool
	Modify  *cluster.Modify // of a write
	// pipeline is that of an aggregate or of a read of a view; nil for others.
	Pipeline *agg.Outline
	Command  bson.Raw
	Level    Verbosity
}

// FindStages are the stages of a find.
func FindStages(f plan.Find) []bson.Raw {
	var out []bson.Raw
	stage := func(fill func(b *bson.Builder)) {
		b := bson.NewBuilder(nil)
		fill(b)
		out = append(out, b.Doc())
	}
	if !f.Filter.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$match", f.Filter) })
	}
	if natural := f.Sort.Get("$natural"); f.Sort.Len() == 1 && natural.IsNumber() {
		// Only the change log is read as a pipeline and has an order: that of ts.
		if n, _ := natural.AsInt64(); n < 0 {
			stage(func(b *bson.Builder) {
				b.BeginDoc("$sort")
				b.Int32("ts", -1)
				b.End()
			})
		}
	} else if !f.Sort.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$sort", f.Sort) })
	}
	if f.Skip > 0 {
		stage(func(b *bson.Builder) { b.Int64("$skip", f.Skip) })
	}
	if f.Limit > 0 {
		stage(func(b *bson.Builder) { b.Int64("$limit", f.Limit) })
	}
	if !f.Projection.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$project", f.Projection) })
	}
	return out
}
