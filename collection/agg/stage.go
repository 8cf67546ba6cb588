package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// Stage is one step of a pipeline: a description without execution state.
// Immutable, safe for concurrent use.
type Stage interface {
	// Name is the stage's name with the dollar sign.
	Name() string
	// Constraints returns where the stage is allowed.
	Constraints() Constraints
	// Split returns how to divide the stage over shards.
	Split() Split
	// Open makes the running operator that reads from in; in is nil for a stage
	// that makes rows itself. The operator closes in when it is closed.
	Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error)
	// Append appends the stage as canonical MQL, {$name: …}, as one field of the
	// open document.
	Append(b *bson.Builder)
	// Reads calls add with the dotted paths of its input that the stage reads, with "" for whole
	// documents. closed reports that no other field of the input reaches the stages after it.
	Reads(add func(path string)) (closed bool)
}

// Split is a stage divided over shards.
type Split struct {
	// Shards run in each shard.
	Shards []Stage
	// Merge run on the merged stream. If Merge and Order are empty, the stages after this one may run in
	// the shards as well.
	Merge []Stage
	// Order is set if each shard's rows arrive in this order and must be merged by it. The stages after
	// this one then run on the merged stream.
	Order *order.Pattern
}

// everywhere returns the Split of a stage that runs in the shards.
func everywhere(s Stage) Split { return Split{Shards: []Stage{s}} }

// merged returns the Split of a stage that needs the whole stream.
func merged(s Stage) Split { return Split{Merge: []Stage{s}} }
