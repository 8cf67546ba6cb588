package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Mentioned holds the namespace and the sub-pipelines in the argument of a stage, for the checks before the
// pipeline is parsed.
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

// reading returns the definition d of a stage with Parse and Skim. Both call read on the argument, so the check
// of what a pipeline may access and the stage itself use the same values.
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

// where returns the condition under which a stage's privilege is needed, as a function of the stage's parsed
// argument (of type A) and the user that runs the pipeline.
func where[A mentioning](holds func(a A, user collection.User) bool) func(argument any, user collection.User) bool {
	return func(argument any, user collection.User) bool { return holds(argument.(A), user) }
}

// refuseRepeated rejects an argument with a repeated field, unless users choose the names of its fields, as in
// $group.
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
