package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Mentioned holds the names in the argument of a stage.
type Mentioned struct {
	// NS is the namespace that the stage reads or writes, and that its sub-pipelines run on. An empty DB
	// means the database of the stage's own pipeline. An empty Coll means that the stage names no
	// collection.
	NS collection.Namespace
	// Subs are the sub-pipelines.
	Subs [][]bson.Raw
}

// mentioning is a parsed argument that contains names.
type mentioning interface{ mentioned() Mentioned }

// reading fills in Parse and Skim of a row. Both use the same read, so the check of what a pipeline may
// access and the stage itself use the same values.
func reading[A mentioning](d StageDef, read func(arg bson.Value) (A, error), parse func(p *parser, a A) ([]Stage, error)) StageDef {
	d.Skim = func(arg bson.Value) (mentioning, error) { return read(arg) }
	d.Parse = func(p *parser, _ string, arg bson.Value) ([]Stage, error) {
		a, err := read(arg)
		if err != nil {
			return nil, err
		}
		return parse(p, a)
	}
	return d
}

// where returns the condition of a privilege on the argument (of type A) of a stage. user is the user
// that runs the pipeline.
func where[A mentioning](holds func(a A, user collection.User) bool) func(argument any, user collection.User) bool {
	return func(argument any, user collection.User) bool { return holds(argument.(A), user) }
}

// refuseRepeated rejects a repeated field in an argument, unless the argument's fields are named by the
// user.
// Errors: IDLDuplicateField (40413).
func (d *StageDef) refuseRepeated(arg bson.Value) error {
	doc, ok := arg.Doc()
	if !ok || d.OwnFields {
		return nil
	}
	if name, twice := doc.Repeated(); twice {
		return mongoerr.RepeatedField(d.Name + "." + string(name))
	}
	return nil
}
