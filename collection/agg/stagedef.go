package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// StageDef is a row of the table of stages: everything that others know about a
// stage by its name. Authorisation, the stable API, read concerns, views, change
// streams and explain read the row; nobody else has a list of stages.
type StageDef struct {
	// Name with the dollar sign.
	Name string
	// Parse reads the stage's argument into one or more stages.
	Parse func(p *parser, name string, arg bson.Value) ([]Stage, error)
	// Skim reads what the argument names, with what Parse reads it with: see reading. nil where
	// no argument names a namespace, a user or a sub-pipeline.
	Skim func(arg bson.Value) (mentioning, error)
	// OwnFields says that the fields of the argument are the user's own, so that one may come
	// twice.
	OwnFields bool
	// SameInput says that the sub-pipelines read what the stage reads, and no
	// collection of their own.
	SameInput bool
	// Behind looks at the stages before s and refuses s there with an error of its
	// own; nil for the usual rules.
	Behind func(s Stage, before []Stage) error
	// Constraints are where the stage may stand; zero in a row whose Parse makes
	// other stages of it.
	Constraints
	// Privileges are what its user must be allowed to do.
	Privileges []Privilege
	// ReadLevel is the only read concern level that the stage goes with; "" for any.
	ReadLevel string
	// Unstable reports an argument with which the stage is not in version 1 of the
	// stable API; nil for a stage that is in it with any.
	// Manual: reference/stable-api.
	Unstable func(arg bson.Value) bool
	// UnstableField is a field of the argument that version 1 of the stable API does
	// not have; "" for none.
	UnstableField string
	// AfterChanges says that the stage may follow $changeStream.
	// Manual: changeStreams#modify-change-stream-output.
	AfterChanges bool
	// Selects reports an argument with which the stage only chooses and orders
	// documents, so that it may stand in a pipeline of $rankFusion or $scoreFusion; nil for none.
	// Manual: reference/operator/aggregation/rankFusion, scoreFusion.
	Selects func(arg bson.Value) bool
	// ShapesPlan says that the stage can become part of the query, so that plans of
	// pipelines with and without it differ.
	ShapesPlan bool
	// NoSettings says that a pipeline which begins with the stage runs without regard
	// to query settings, so that no setting can shut it out.
	NoSettings bool
	// Since is the first release of MongoDB that has it, such as "8.2"; "" if that is older
	// than 3.6 or the manual does not say.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// Constraints says where a stage may stand and what it does with rows. The zero
// value may stand anywhere.
type Constraints struct {
	First bool // only as the first stage
	Last  bool // only as the last stage
	// Source stages make rows instead of transforming an input.
	Source bool
	// BySelf marks a source that reads the pipeline's collection by pipelines of its
	// own, so that the stages of a view come before those.
	BySelf bool
	// Watches marks the source that has no end: $changeStream.
	Watches bool
	// Collectionless sources belong to a database ({aggregate: 1}); AdminOnly
	// ones to the database admin.
	Collectionless, AdminOnly bool
	// OnCollection says that a collectionless source may be asked of a collection too.
	OnCollection bool
	// NoCollection is the error of a collectionless source asked of a collection; nil
	// for the usual one.
	NoCollection func() error
	// NotIn lists the places that refuse the stage.
	NotIn Surroundings
	// NoView is the code with which a view is refused whose own stages have this one,
	// before anything is parsed; 0 if it may have it.
	NoView mongoerr.Code
	// Blocking stages read their whole input before the first row.
	Blocking bool
	// Writes marks $out and $merge.
	Writes bool
	// OneToOne stages deliver exactly one row per input row, in order.
	OneToOne bool
	// KeepsOrder stages deliver rows in the order of their inputs.
	KeepsOrder bool
}

// Surroundings are the surroundings of a pipeline, as a set.
type Surroundings uint8

// The places that may refuse a stage.
const (
	InFacet Surroundings = 1 << iota
	InLookup
	InUnion
	InView
	InTransaction
	InUpdate
)

// Privilege is something that the user of a stage must be allowed to do.
type Privilege struct {
	// Action is its name as in the privileges of a role.
	Action string
	On     Resource
	// If says with which arguments the privilege is needed, nil for all: see where.
	If func(argument any, user collection.User) bool
	// Case says the same for people; "" if the privilege is always needed.
	Case string
}

// Resource is what a privilege is on.
type Resource uint8

// The resources of stages.
const (
	// OnTarget is the namespace that the argument names; without one nothing is needed.
	OnTarget Resource = iota
	// OnInput is the collection or database that the stage's pipeline runs on.
	OnInput
	OnCluster
	// Everywhere is all databases and collections.
	Everywhere
)

// readsTarget are the privileges of a stage that reads the collection it names.
var readsTarget = []Privilege{{Action: "find", On: OnTarget}}

// always says of any argument what Unstable and Selects report.
func always(bson.Value) bool { return true }

// FindStage returns the row of a stage by its name, nil for an unknown one.
func FindStage(name string) *StageDef { return findStage(Stages, name) }
