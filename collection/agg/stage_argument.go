package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Mentioned is what the argument of a stage names.
type Mentioned struct {
	// NS is the namespace that the stage reads or writes, and that its sub-pipelines run on.
	// Without a DB it is in the database of the stage's own pipeline. Without a Coll the stage
	// names no collection.
	NS collection.Namespace
	// Subs are the sub-pipelines.
	Subs [][]bson.Raw
}

// mentioning is an argument, as it has been read, that names something.
type mentioning interface{ mentioned() Mentioned }

// reading fills in Parse and Skim of a row, so that both begin with the same read: what a pipeline
// is allowed to touch is decided by the values that the stage is made of.
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

// where is the condition of a privilege on the argument of a stage that reads an A. The user is
// the one who runs the pipeline.
func where[A mentioning](holds func(a A, user collection.User) bool) func(argument any, user collection.User) bool {
	return func(argument any, user collection.User) bool { return holds(argument.(A), user) }
}

// refuseRepeated refuses a field that comes twice in an argument, where its fields are named
// arguments and not the user's own.
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
