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

// documentsStage is $documents: it delivers the documents of the array that an expression returns.
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
	op := &documentsOp{base: base{stage: s}}
	v, err := s.e.Eval(env, bson.Empty, &op.scratch)
	if err != nil {
		op.scratch.Close()
		return nil, err
	}
	a, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(5858203, "$documents' must evaluate to an array of objects, got %s", v.Type)
	}
	for it := a.Iter(); it.Next(); {
		if it.Value.Type != bson.TypeDocument {
			return nil, mongoerr.New(40228, "'newRoot' expression  must evaluate to an object, but resulting value was of type %s", it.Value.Type)
		}
	}
	op.left = a.Iter()
	return op, nil
}

// documentsOp delivers the elements of an array of documents.
type documentsOp struct {
	base
	scratch expr.Scratch // holds the array
	left    bson.Iter
	row     exec.Row
}

func (o *documentsOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.left.Next() {
		return nil, nil
	}
	if err := env.Tick(); err != nil {
		return nil, err
	}
	o.row = exec.Row{Doc: o.left.Value.Data}
	o.returned++
	return &o.row, nil
}

// Park releases nothing: the operator has nothing open.
func (*documentsOp) Park() (int, bool) { return 0, true }

func (o *documentsOp) Close() {
	o.left = bson.Iter{}
	o.scratch.Close()
}
