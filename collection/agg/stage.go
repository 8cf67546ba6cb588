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
	// Split returns the parts of the stage that run in the shards and on the merged rows.
	Split() Split
	// Open returns the running operator that reads from in; in is nil for a stage that makes rows itself. The
	// operator closes in when it is closed.
	Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error)
	// Append appends the stage as canonical MQL, {$name: …}, as one field of the
	// open document.
	Append(b *bson.Builder)
	// Reads calls add with the dotted paths that the stage reads in its input documents, with "" for whole
	// documents. closed reports that no other field of the input reaches the stages after it.
	Reads(add func(path string)) (closed bool)
}

// Split is a stage divided over shards.
type Split struct {
	// Shards run in each shard.
	Shards []Stage
	// Merge run on the merged rows of all shards. If Merge and Order are empty, the stages after this one may
	// run in the shards as well.
	Merge []Stage
	// Order is set if the rows of each shard arrive in this order and must be merged in it. The stages after
	// this one then run on the merged rows.
	Order *order.Pattern
}

// everywhere returns the Split of a stage that runs in the shards.
func everywhere(s Stage) Split { return Split{Shards: []Stage{s}} }

// merged returns the Split of a stage that needs the rows of all shards together.
func merged(s Stage) Split { return Split{Merge: []Stage{s}} }
