package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// StageDef is the definition of a stage, a row of the table Stages: it holds everything that code outside of
// the stage's file needs. Authorisation, the stable API, read concerns, views, change streams and explain read
// it; there is no other list of stages.
type StageDef struct {
	// Name with the dollar sign.
	Name string
	// Parse reads the stage's argument into one or more stages.
	Parse func(p *parser, name string, arg bson.Value) ([]Stage, error)
	// Skim returns the names in the argument. It reads them with the same function as Parse: see reading. Nil
	// if no argument contains a namespace, a user or a sub-pipeline.
	Skim func(arg bson.Value) (mentioning, error)
	// OwnFields reports that users choose the names of the argument's fields, as in $group, so that the same
	// name may occur twice.
	OwnFields bool
	// NotOwn is the field of such an argument that has a meaning of its own, as _id in $group; "" for none.
	NotOwn string
	// Filters reports that the argument is a filter.
	Filters bool
	// Names lists the fields of the argument with the name of a collection or a field, which a query shape keeps; "" stands for the
	// argument itself, if it is a string.
	Names []string
	// SameInput reports that the sub-pipelines read the stage's input, and no collection of their own.
	SameInput bool
	// Behind checks the stages before s and may reject s with its own error; nil for the usual rules.
	Behind func(s Stage, before []Stage) error
	// Constraints are the places where the stage is allowed. They are zero if Parse rejects the stage or
	// replaces it by simpler ones.
	Constraints
	// Privileges are the privileges that the user needs.
	Privileges []Privilege
	// ReadLevel is the only read concern level with which the stage is allowed; "" for any.
	ReadLevel string
	// Unstable reports whether the stage with this argument is outside version 1 of the stable API. Nil means
	// that the stage itself is always in it, except for UnstableField.
	// Manual: reference/stable-api.
	Unstable func(arg bson.Value) bool
	// UnstableField is a field of the argument that is not in version 1 of the stable API; "" for none.
	UnstableField string
	// AfterChanges reports that the stage may follow $changeStream.
	// Manual: changeStreams#modify-change-stream-output.
	AfterChanges bool
	// Selects reports whether the stage with this argument only selects and orders documents, so that it
	// is allowed in a pipeline of $rankFusion or $scoreFusion; nil means never.
	// Manual: reference/operator/aggregation/rankFusion, scoreFusion.
	Selects func(arg bson.Value) bool
	// ShapesPlan reports that the stage can become part of the query that the planner sees, so that pipelines
	// with and without the stage have different plans.
	ShapesPlan bool
	// InPlan is the name under which explain shows the stage, if it is directly behind the query, as a stage of the plan of
	// the query, such as GROUP; "" if the stage is always in the list of the pipeline's stages.
	InPlan string
	// NoSettings reports that a pipeline which begins with the stage ignores query settings, so that no
	// setting can block it.
	NoSettings bool
	// Since is the first release of MongoDB with the stage, such as "8.2". It is "" if the stage is older than
	// 3.6 or not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// Constraints describes where a stage is allowed and what it does with rows. The zero value is a stage that is
// allowed anywhere.
type Constraints struct {
	First bool // only allowed as the first stage
	Last  bool // only allowed as the last stage
	// Source stages make rows instead of transforming an input.
	Source bool
	// BySelf marks a source that reads the pipeline's collection by sub-pipelines, as $rankFusion does. The
	// stages of a view must then precede the stages of these sub-pipelines.
	BySelf bool
	// OfView marks a source that, on a view, describes the view itself and not its collection: $collStats.
	OfView bool
	// Watches marks the source that has no end: $changeStream.
	Watches bool
	// Collectionless sources run on a database ({aggregate: 1}), AdminOnly sources on the database
	// admin.
	Collectionless, AdminOnly bool
	// OnCollection reports that a collectionless source may run on a collection too.
	OnCollection bool
	// NoCollection returns the error for a collectionless source on a collection; nil for the usual
	// error.
	NoCollection func() error
	// NotIn is the set of places where the stage is not allowed.
	NotIn Surroundings
	// NoView is the error code for a view whose definition contains the stage, checked before anything is
	// parsed. 0 means that a view may contain the stage.
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

// Surroundings is a set of places where a pipeline can be.
type Surroundings uint8

// The places in which a stage may be forbidden.
const (
	InFacet Surroundings = 1 << iota
	InLookup
	InUnion
	InView
	InTransaction
	InUpdate
)

// Privilege is a privilege that the user of a stage needs.
type Privilege struct {
	// Action is the name of the action, as in the privileges of a role.
	Action string
	On     Resource
	// If reports whether an argument of the stage, for a user, requires the privilege: see where. Nil means
	// that it is always required.
	If func(argument any, user collection.User) bool
	// Case describes the condition If in words; "" if the privilege is always needed.
	Case string
}

// Resource is the resource of a privilege.
type Resource uint8

// The resources of stages.
const (
	// OnTarget is the namespace in the argument. If there is none, no privilege is needed.
	OnTarget Resource = iota
	// OnInput is the collection or database on which the stage's pipeline runs.
	OnInput
	OnCluster
	// Everywhere is all databases and collections.
	Everywhere
	// OnInputOrEverywhere is the collection on which the stage's pipeline runs; if it runs on a database, Everywhere.
	OnInputOrEverywhere
)

// readsTarget are the privileges of a stage that reads the collection in its argument.
var readsTarget = []Privilege{{Action: "find", On: OnTarget}}

// always returns true, for Unstable and Selects.
func always(bson.Value) bool { return true }

// FindStage returns the row of a stage by its name, nil for an unknown one.
func FindStage(name string) *StageDef { return findStage(Stages, name) }
