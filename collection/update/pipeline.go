package update

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
)

// parsePipeline reads an update that is an array of stages, such as [{$set: …}]. Manual:
// tutorial/update-documents-with-aggregation-pipeline.
//
// Errors: TypeMismatch, 40323 (a stage is one field), 40324 (unknown stage), InvalidOptions (a stage that is not
// allowed in updates), the errors of Cosmos.Check and of the stages.
func parsePipeline(env *mql.Env, list bson.Raw) (*Program, error) {
	p := &Program{pipeline: true}
	parse := env.WithLateConstants() // no document may match
	for v := range list.Values() {
		d, ok := v.Doc()
		if !ok {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
		f, ok := d.First()
		if !ok || d.Len() != 1 {
			return nil, mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
		}
		name := string(f.Name)
		if _, ok := slices.BinarySearch(project.Stages[:], name); !ok {
			if len(name) == 0 || name[0] != '$' {
				return nil, mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
			}
			return nil, mongoerr.New(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", name)
		}
		if err := env.Cosmos.Check(cosmos.Stage, name); err != nil {
			return nil, err
		}
		t, err := project.ParseStage(parse, name, f.Value)
		if err != nil {
			return nil, err
		}
		p.stages = append(p.stages, t)
	}
	return p, nil
}

// applyPipeline runs the stages of an update one after the other on doc and appends the result to dst. _id becomes
// the first field; if the result has none, the old _id is kept. Manual: core/document#field-order.
func (p *Program) applyPipeline(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error {
	current := doc
	for i, t := range p.stages {
		last := i == len(p.stages)-1
		var b bson.Builder
		b.Reset(nil)
		if err := t.Apply(env, &b, current, s); err != nil {
			return err
		}
		current = b.Doc()
		if len(current) > bson.MaxInternalBytes && !last {
			return mongoerr.New(17419, "Resulting document after update is larger than %d", bson.MaxDocumentBytes)
		}
	}
	if current.Depth() > bson.MaxDepth {
		return tooDeep()
	}
	if f, ok := current.First(); ok && string(f.Name) == "_id" {
		dst.Splice(current.Elements())
		return nil
	}
	id, has := current.Lookup("_id")
	if !has {
		id = doc.Get("_id")
	}
	dst.Value("_id", id)
	for it := current.Iter(); it.Next(); {
		if string(it.Name) != "_id" {
			dst.ValueBytes(it.Name, it.Value)
		}
	}
	return nil
}
