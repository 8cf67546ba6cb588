package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Involved is something a pipeline touches beside the collection it runs on.
type Involved struct {
	// NS is the namespace; DB is empty where the stage means the command's
	// database, Coll is empty where it means none.
	NS collection.Namespace
	// Stage is the name of the stage that touches it.
	Stage string
	// Writes marks the target of $out and $merge.
	Writes bool
	// Arg is the stage's argument.
	Arg bson.Value
	// On is the collection of the sub-pipeline that the stage stands in, with an
	// empty DB for the command's; Nested tells it from the command's own pipeline.
	On     collection.Namespace
	Nested bool
}

// Skim lists the namespaces in a pipeline and its sub-pipelines, and the stages
// that read something else than collections ($collStats, $currentOp, …, as an
// Involved without a collection), before anything is parsed: for privileges,
// locks and views.
//
// Errors: 40323 and 40324 for what is no stage.
func Skim(stages []bson.Raw) ([]Involved, error) {
	var out []Involved
	err := skim(stages, func(i Involved) error {
		if len(out) > stagesMax*depthMax {
			return mongoerr.New(7749501, "Pipeline length must be no longer than %d stages", stagesMax)
		}
		out = append(out, i)
		return nil
	}, Involved{}, 0)
	return out, err
}

// skim visits the stages of a pipeline; at has its On and Nested.
func skim(stages []bson.Raw, add func(Involved) error, at Involved, depth int) error {
	if depth > depthMax {
		return mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", depthMax)
	}
	for _, raw := range stages {
		f, ok := raw.First()
		if !ok || raw.Len() != 1 {
			return mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
		}
		def := findStage(Stages, string(f.Name))
		if def == nil {
			return mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", f.Name)
		}
		if def.Skim == nil {
			continue
		}
		inner := at
		if def.Name != "$facet" { // whose sub-pipelines read what it reads
			inner = Involved{Nested: true}
		}
		sub, err := def.Skim(f.Value, func(i Involved) error {
			i.Arg, i.On, i.Nested = f.Value, at.On, at.Nested
			inner.On = i.NS
			return add(i)
		})
		if err != nil {
			return err
		}
		for _, v := range sub {
			if stages, ok := pipelineDocs(v); ok {
				if err := skim(stages, add, inner, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
