package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageUnionWith = StageDef{Name: "$unionWith", Parse: parseUnionWith, Skim: skimUnionWith,
	Constraints: Constraints{NotIn: InUpdate | InTransaction}, Privileges: readsTarget,
	Doc: "reference/operator/aggregation/unionWith", Since: "4.4"}

// unionStage delivers its input and then another collection.
type unionStage struct {
	ns  collection.Namespace
	sub *Pipeline
}

func parseUnionWith(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	s := &unionStage{ns: collection.Namespace{DB: p.ns.DB}}
	var stages []bson.Raw
	switch arg.Type {
	case bson.TypeString:
		s.ns.Coll, _ = arg.Str()
		if s.ns.Coll == "" {
			return nil, mongoerr.BadNamespace(s.ns.String() + ".")
		}
	case bson.TypeDocument:
		for it := bson.Raw(arg.Data).Iter(); it.Next(); {
			v := it.Value
			switch string(it.Name) {
			case "coll":
				if v.Type != bson.TypeString {
					return nil, mongoerr.WrongType("$unionWith.coll", v.Type.String(), "string")
				}
				s.ns.Coll, _ = v.Str()
			case "db":
				if v.Type != bson.TypeString {
					return nil, mongoerr.WrongType("$unionWith.db", v.Type.String(), "string")
				}
				s.ns.DB, _ = v.Str()
			case "pipeline":
				var err error
				if stages, err = wantPipeline(v); err != nil {
					return nil, err
				}
			default:
				return nil, mongoerr.New(40415, "BSON field '$unionWith.%s' is an unknown field.", it.Name)
			}
		}
	default:
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $unionWith stage specification must be an object or string, but found %s", arg.Type)
	}
	sub, err := p.sub(p.env, s.ns, InUnion, stages)
	if err != nil {
		return nil, err
	}
	s.sub = sub
	if s.ns.Coll == "" && !startsWithDocuments(sub) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$unionWith stage without explicit collection must have a pipeline with $documents as first stage")
	}
	return []Stage{s}, nil
}

// wantPipeline reads the pipeline argument of a stage.
func wantPipeline(v bson.Value) ([]bson.Raw, error) {
	if v.Type != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
	}
	stages, ok := pipelineDocs(v)
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
	}
	return stages, nil
}

func startsWithDocuments(p *Pipeline) bool {
	if len(p.stages) == 0 {
		return false
	}
	_, ok := p.stages[0].(*documentsStage)
	return ok
}

func skimUnionWith(arg bson.Value, add func(Involved) error) ([]bson.Value, error) {
	var i Involved
	d, ok := arg.Doc()
	if !ok {
		i.NS.Coll, _ = arg.Str()
		return nil, add(i)
	}
	i.NS.Coll, _ = d.Get("coll").Str()
	i.NS.DB, _ = d.Get("db").Str()
	if i.NS.Coll == "" {
		return []bson.Value{d.Get("pipeline")}, nil
	}
	return []bson.Value{d.Get("pipeline")}, add(i)
}

func (s *unionStage) Name() string             { return "$unionWith" }
func (s *unionStage) Constraints() Constraints { return stageUnionWith.Constraints }
func (s *unionStage) Split() Split             { return merged(s) }
func (s *unionStage) Reads(func(string)) bool  { return false }

func (s *unionStage) Append(b *bson.Builder) {
	b.BeginDoc("$unionWith")
	if s.ns.Coll != "" {
		b.String("coll", s.ns.Coll)
	}
	s.sub.Append(b, "pipeline")
	b.End()
}

func (s *unionStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	return &unionOp{base: base{in: in, stage: s}, unionStage: s, opener: o}, nil
}

type unionOp struct {
	base
	*unionStage
	opener Opener
	other  exec.Operator
	row    exec.Row
}

func (o *unionOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.other == nil {
		r, err := o.in.Next(env)
		if err != nil {
			return nil, err
		}
		if r != nil {
			o.returned++
			return r, nil
		}
		o.in.Close()
		if o.other, err = openSub(env, o.opener, o.ns, o.sub); err != nil {
			return nil, err
		}
	}
	r, err := o.other.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	o.returned++
	o.row = exec.Row{Doc: r.Doc}
	return &o.row, nil
}

func (o *unionOp) Park() (int, bool) {
	if o.other != nil { // the input is closed
		return o.other.Park()
	}
	return o.in.Park()
}

// openSub runs a sub-pipeline on another collection, or on nothing if it makes
// its rows itself.
func openSub(env *mql.Env, o Opener, ns collection.Namespace, p *Pipeline) (exec.Operator, error) {
	if startsWithDocuments(p) {
		return p.Optimize().Open(env, nil, o)
	}
	return o.Open(env, ns, p)
}

func (o *unionOp) Close() {
	o.base.Close()
	if o.other != nil {
		o.other.Close()
	}
}

func (o *unionOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }

// passMatch filters both inputs.
func (s *unionStage) passMatch(m *matchStage) ([]Stage, bool) {
	if !reusable(m.node) {
		return nil, false
	}
	both := *s
	both.sub = s.sub.with(append(append([]Stage(nil), s.sub.stages...), m))
	return []Stage{m, &both}, true
}
