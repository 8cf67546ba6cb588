package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageUnionWith = reading(StageDef{Name: "$unionWith", Names: []string{"", "coll"},
	Constraints: Constraints{NotIn: InUpdate | InTransaction}, Privileges: readsTarget,
	Doc: "reference/operator/aggregation/unionWith", Since: "4.4"}, readUnionWith, parseUnionWith)

// unionStage delivers its input and then the documents of another collection.
type unionStage struct {
	ns  collection.Namespace
	sub *Pipeline
}

// unionArgs are the arguments of $unionWith.
type unionArgs struct {
	ns       collection.Namespace // an empty DB means that of the pipeline
	named    bool                 // the argument is only the name of a collection
	pipeline []bson.Raw
}

func (a *unionArgs) mentioned() Mentioned { return Mentioned{NS: a.ns, Subs: [][]bson.Raw{a.pipeline}} }

func readUnionWith(arg bson.Value) (*unionArgs, error) {
	a := &unionArgs{}
	switch arg.Type {
	case bson.TypeString:
		a.named = true
		a.ns.Coll, _ = arg.Str()
	case bson.TypeDocument:
		for it := bson.Raw(arg.Data).Iter(); it.Next(); {
			v := it.Value
			switch string(it.Name) {
			case "coll":
				if v.Type != bson.TypeString {
					return nil, mongoerr.WrongType("$unionWith.coll", v.Type.String(), "string")
				}
				a.ns.Coll, _ = v.Str()
			case "db":
				if v.Type != bson.TypeString {
					return nil, mongoerr.WrongType("$unionWith.db", v.Type.String(), "string")
				}
				a.ns.DB, _ = v.Str()
			case "pipeline":
				var err error
				if a.pipeline, err = pipelineArg(v); err != nil {
					return nil, err
				}
			default:
				return nil, mongoerr.New(40415, "BSON field '$unionWith.%s' is an unknown field.", it.Name)
			}
		}
	default:
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $unionWith stage specification must be an object or string, but found %s", arg.Type)
	}
	return a, nil
}

func parseUnionWith(p *parser, a *unionArgs) ([]Stage, error) {
	s := &unionStage{ns: a.ns}
	if s.ns.DB == "" {
		s.ns.DB = p.ns.DB
	}
	if (a.named || s.ns.Coll != "") && badCollection(s.ns.Coll) {
		return nil, mongoerr.BadNamespace(s.ns.DB + "." + s.ns.Coll)
	}
	sub, err := p.sub(p.env, s.ns, InUnion, a.pipeline)
	if err != nil {
		return nil, err
	}
	s.sub = sub
	if s.ns.Coll == "" && !startsWithDocuments(sub) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$unionWith stage without explicit collection must have a pipeline with $documents as first stage")
	}
	return []Stage{s}, nil
}

// pipelineArg reads the pipeline argument of a stage.
func pipelineArg(v bson.Value) ([]bson.Raw, error) {
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
	return &unionOp{base: base{in: in, stage: s}, unionStage: s, sub: s.sub, opener: o}, nil
}

type unionOp struct {
	base
	*unionStage
	sub    *Pipeline // the stage's sub-pipeline, with the kinds of metadata that later stages read
	opener Opener
	other  exec.Operator
	row    exec.Row
	metas  metaKinds
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
	o.row = exec.Row{Doc: r.Doc, Meta: o.metas.metaToStore(r)}
	return &o.row, nil
}

// readsMeta adds the kinds of metadata that later stages read to those that the rows of the other pipeline must
// have.
func (o *unionOp) readsMeta(k metaKinds) {
	o.metas = k
	o.sub = o.unionStage.sub.with(o.unionStage.sub.stages)
	o.sub.metas |= k
}

func (o *unionOp) Park() (int, bool) {
	if o.other != nil { // the input has ended
		return o.other.Park()
	}
	return o.in.Park()
}

// openSub opens a sub-pipeline on another collection, or without input if its first stage is $documents.
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

// passMatch moves a following $match that reads only fixed paths into both inputs of the $unionWith: in front of the
// stage, and to the end of its pipeline.
func (s *unionStage) passMatch(m *matchStage) ([]Stage, bool) {
	if !reusable(m.node) {
		return nil, false
	}
	both := *s
	both.sub = s.sub.with(append(append([]Stage(nil), s.sub.stages...), m))
	return []Stage{m, &both}, true
}
