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
	// Constraints says where the stage may stand.
	Constraints() Constraints
	// Split says how the stage is divided over shards.
	Split() Split
	// Open makes the running operator that reads from in; in is nil for a stage
	// that makes rows itself. The operator closes in when it is closed.
	Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error)
	// Append appends the stage as canonical MQL, {$name: …}, as one field of the
	// open document.
	Append(b *bson.Builder)
	// Reads reports the dotted paths of its input that the stage looks at, ""
	// for whole documents. closed says that nothing else of the input reaches
	// the stages after it.
	Reads(add func(path string)) (closed bool)
}

// Constraints says where a stage may stand. The zero value may stand anywhere.
type Constraints struct {
	First bool // only as the first stage
	Last  bool // only as the last stage
	// Source stages make rows instead of transforming an input.
	Source bool
	// Sharded sources run in each shard.
	Sharded bool
	// Collectionless sources belong to a database ({aggregate: 1}); AdminOnly
	// ones to the database admin.
	Collectionless, AdminOnly bool
	// NotIn lists the places that refuse the stage.
	NotIn Places
	// Blocking stages read their whole input before the first row.
	Blocking bool
	// Writes marks $out and $merge.
	Writes bool
	// OneToOne stages deliver exactly one row per input row, in order.
	OneToOne bool
	// KeepsOrder stages deliver rows in the order of their inputs.
	KeepsOrder bool
}

// Places are the surroundings of a pipeline, as a set.
type Places uint8

// The places that may refuse a stage.
const (
	InFacet Places = 1 << iota
	InLookup
	InUnion
	InView
	InTransaction
	InUpdate
)

// Split is a stage divided over shards.
type Split struct {
	// Shards run in each shard.
	Shards []Stage
	// Merge run on the merged stream; empty when the stages after this one may
	// run in the shards as well.
	Merge []Stage
	// Order is set when each shard's rows arrive in this order and are to be
	// merged by it; the stages after this one run on the merged stream.
	Order *order.Pattern
}

// everywhere is the Split of a stage that runs in the shards.
func everywhere(s Stage) Split { return Split{Shards: []Stage{s}} }

// merged is the Split of a stage that needs the whole stream.
func merged(s Stage) Split { return Split{Merge: []Stage{s}} }

// StageDef is a row of the table of stages.
type StageDef struct {
	// Name with the dollar sign.
	Name string
	// Parse reads the stage's argument into one or more stages.
	Parse func(p *parser, name string, arg bson.Value) ([]Stage, error)
	// Skim lists the namespaces in the argument and returns its sub-pipelines;
	// nil where there are none.
	Skim func(arg bson.Value, add func(Involved) error) (subs []bson.Value, err error)
	// Doc is the page of the manual.
	Doc string
}
