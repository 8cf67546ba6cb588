package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageDocuments = StageDef{Name: "$documents", Parse: parseDocuments,
	Constraints: Constraints{First: true, Source: true, Collectionless: true, NoView: mongoerr.InvalidNamespace, NotIn: InFacet | InUpdate},
	Doc:         "reference/operator/aggregation/documents", Since: "5.1"}

// documentsStage delivers the documents of an expression.
type documentsStage struct{ e expr.Expr }

func parseDocuments(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	e, err := expr.Parse(p.env, arg)
	if err != nil {
		return nil, err
	}
	return []Stage{&documentsStage{e}}, nil
}

func (s *documentsStage) Name() string             { return "$documents" }
func (s *documentsStage) Constraints() Constraints { return stageDocuments.Constraints }
func (s *documentsStage) Split() Split             { return merged(s) }
func (s *documentsStage) Append(b *bson.Builder)   { s.e.Append(b, "$documents") }
func (s *documentsStage) Reads(func(string)) bool  { return true }

func (s *documentsStage) Open(env *mql.Env, _ exec.Operator, _ Opener) (exec.Operator, error) {
	var scratch expr.Scratch
	v, err := s.e.Eval(env, bson.Empty, &scratch)
	if err != nil {
		return nil, err
	}
	a, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(5858203, "$documents' must evaluate to an array of objects, got %s", v.Type)
	}
	var docs []bson.Raw
	for it := a.Iter(); it.Next(); {
		d, ok := it.Value.Doc()
		if !ok {
			return nil, mongoerr.New(40228, "'newRoot' expression  must evaluate to an object, but resulting value was of type %s", it.Value.Type)
		}
		docs = append(docs, d.Clone())
	}
	return &sliceOp{base: base{stage: s}, rows: docs}, nil
}
