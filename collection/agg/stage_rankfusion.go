package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageRankFusion = StageDef{Name: "$rankFusion", Parse: parseRankFusion, Behind: fusionFirst,
	Constraints: Constraints{First: true, Source: true, BySelf: true, Blocking: true, NotIn: InUpdate},
	Doc:         "reference/operator/aggregation/rankFusion", Since: "8.0"}

// rankFusionStage runs several pipelines that rank the documents of one
// collection and delivers each document once, the best by all ranks first.
type rankFusionStage struct {
	ns      collection.Namespace
	inputs  []rankedInput
	details bool        // scoreDetails was asked for
	group   *groupStage // gathers the ranks of a document
	arg     bson.Raw
}

// rankedInput is one of the pipelines.
type rankedInput struct {
	name   string
	weight float64
	sub    *Pipeline
	// by orders the documents of sub: those that are equal by it share a rank.
	// nil ranks them by position.
	by *order.Pattern
}

// Names of the stages that rank by several pipelines.
const (
	rankFusion  = "$rankFusion"
	scoreFusion = "$scoreFusion"
)

// isHybrid says that a stage is one of them.
func isHybrid(name string) bool { return name == rankFusion || name == scoreFusion }

func parseRankFusion(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	if arg.Type != bson.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The $rankFusion stage specification must be an object, found %s", arg.Type)
	}
	s := &rankFusionStage{ns: p.ns, arg: bson.Raw(arg.Data)}
	fields := specFields{stage: rankFusion, want: map[string]bson.Type{"input": bson.TypeDocument, "combination": bson.TypeDocument, "scoreDetails": bson.TypeBool}}
	top, err := fields.read("", s.arg)
	if err != nil {
		return nil, err
	}
	s.details = top["scoreDetails"].Truthy()
	if top["input"].IsMissing() {
		return nil, fields.missing("input")
	}
	fields.want = map[string]bson.Type{"pipelines": bson.TypeDocument}
	input, err := fields.read("input.", bson.Raw(top["input"].Data))
	if err != nil {
		return nil, err
	}
	if input["pipelines"].IsMissing() {
		return nil, fields.missing("input.pipelines")
	}
	if err := s.parseInputs(p, bson.Raw(input["pipelines"].Data)); err != nil {
		return nil, err
	}
	if c := top["combination"]; !c.IsMissing() {
		fields.want = map[string]bson.Type{"weights": bson.TypeDocument}
		combination, err := fields.read("combination.", bson.Raw(c.Data))
		if err != nil {
			return nil, err
		}
		if combination["weights"].IsMissing() {
			return nil, fields.missing("combination.weights")
		}
		if err := s.parseWeights(bson.Raw(combination["weights"].Data)); err != nil {
			return nil, err
		}
	}
	group, err := parseGroup(p, "$group", rankGroup())
	if err != nil {
		return nil, err
	}
	s.group = group[0].(*groupStage)
	return []Stage{s}, nil
}

// rankGroup gathers what rankedOp delivers by document.
func rankGroup() bson.Value {
	b := bson.NewBuilder(nil)
	b.String("_id", "$_id")
	b.BeginDoc("doc")
	b.String("$first", "$doc")
	b.End()
	b.BeginDoc("ranks")
	b.String("$push", "$at")
	b.End()
	return b.Doc().Value()
}

// specFields reads the fields of a stage's argument and of the documents in it,
// of which null is as good as absent.
type specFields struct {
	stage string
	want  map[string]bson.Type
}

// read returns the fields of d, whose names in errors begin with prefix.
//
// Errors: 40415 for an unknown field, TypeMismatch.
func (f *specFields) read(prefix string, d bson.Raw) (map[string]bson.Value, error) {
	out := map[string]bson.Value{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		want, ok := f.want[name]
		switch {
		case !ok:
			return nil, mongoerr.New(40415, "BSON field '%s.%s%s' is an unknown field.", f.stage, prefix, name)
		case it.Value.Type == bson.TypeNull || it.Value.Type == bson.TypeUndefined:
		case it.Value.Type != want:
			return nil, mongoerr.WrongType(f.stage+"."+prefix+name, it.Value.Type.String(), want.String())
		default:
			out[name] = it.Value
		}
	}
	return out, nil
}

// missing is the error of a required field that is not there.
func (f *specFields) missing(name string) error {
	return mongoerr.New(40414, "BSON field '%s.%s' is missing but a required field", f.stage, name)
}

// parseInputs reads the pipelines.
//
// Errors: BadValue for none, 15998, 16410 and 16412 for their names, those of
// parseInput.
func (s *rankFusionStage) parseInputs(p *parser, pipelines bson.Raw) error {
	for it := pipelines.Iter(); it.Next(); {
		name := string(it.Name)
		switch {
		case name == "":
			return mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		case name[0] == '$':
			return mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.Contains(name, "."):
			return mongoerr.New(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.")
		case it.Value.Type != bson.TypeArray:
			return mongoerr.WrongType("$rankFusion.input.pipelines."+name, it.Value.Type.String(), "array")
		}
		stages, ok := pipelineDocs(it.Value)
		if !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the pipeline '%s' of $rankFusion must be an object", name)
		}
		in, err := parseRanked(p, name, stages)
		if err != nil {
			return err
		}
		s.inputs = append(s.inputs, in)
	}
	if len(s.inputs) == 0 {
		return mongoerr.New(mongoerr.BadValue, "$rankFusion needs at least one pipeline in input.pipelines")
	}
	return nil
}

// parseRanked reads one pipeline, which has to rank documents and to leave them
// as they are.
//
// Errors: 9834300 for an empty one, 10473002 and 10170100 for a fusion inside,
// 9191103 for a stage that changes documents, 9191100 for a pipeline without an
// order.
func parseRanked(p *parser, name string, stages []bson.Raw) (rankedInput, error) {
	in := rankedInput{name: name, weight: 1}
	if len(stages) == 0 {
		return in, mongoerr.New(9834300, "The pipeline '%s' of $rankFusion must not be empty", name)
	}
	for i, raw := range stages {
		f, ok := raw.First()
		stage := string(f.Name)
		def := p.find(stage)
		switch {
		case !ok || raw.Len() != 1 || def == nil && !isHybrid(stage):
			continue // for the parser to say
		case isHybrid(stage) && i == 0:
			return in, mongoerr.New(10473002, "%s is not allowed in the pipeline '%s' of $rankFusion", stage, name)
		case isHybrid(stage):
			return in, notFirstHybrid(stage)
		}
		if def.Selects == nil || !def.Selects(f.Value) {
			return in, mongoerr.New(9191103, "The pipeline '%s' of $rankFusion must leave the documents as they are, which %s does not", name, stage)
		}
	}
	var err error
	if in.sub, err = p.sub(p.env, p.ns, 0, stages); err != nil {
		return in, err
	}
	ranked := false
	for _, s := range in.sub.stages {
		switch s := s.(type) {
		case *sortStage:
			in.by, ranked = &s.pattern, true
		case *geoNearStage:
			in.by, ranked = &distanceOrder, true
		case *sampleStage:
			in.by = nil
		}
	}
	if !ranked {
		return in, mongoerr.New(9191100, "The pipeline '%s' of $rankFusion must begin with a stage that ranks, or have a $sort", name)
	}
	return in, nil
}

// fusionFirst refuses a fusion behind another stage. Errors: 10170100.
func fusionFirst(s Stage, before []Stage) error {
	if len(before) > 0 {
		return notFirstHybrid(s.Name())
	}
	return nil
}

// notFirstHybrid is the error of a fusion behind another stage.
func notFirstHybrid(name string) error {
	return mongoerr.New(10170100, "%s is only valid as the first stage in a pipeline", name)
}

// parseWeights reads the weights of pipelines by name; the others have 1.
//
// Errors: 9460301 for more weights than pipelines, 9967500 for one without its
// pipeline, 13118 for one that is no number, 9460300 for one below 0.
func (s *rankFusionStage) parseWeights(weights bson.Raw) error {
	if weights.Len() > len(s.inputs) {
		return mongoerr.New(9460301, "$rankFusion has %d weights for %d pipelines", weights.Len(), len(s.inputs))
	}
next:
	for it := weights.Iter(); it.Next(); {
		for i := range s.inputs {
			in := &s.inputs[i]
			if in.name != string(it.Name) {
				continue
			}
			if !it.Value.IsNumber() {
				return mongoerr.New(13118, "The weight of the pipeline '%s' of $rankFusion must be a number, found %s", in.name, it.Value.Type)
			}
			if in.weight, _ = it.Value.AsFloat(); !(in.weight >= 0) {
				return mongoerr.New(9460300, "The weight of the pipeline '%s' of $rankFusion must not be negative", in.name)
			}
			continue next
		}
		return mongoerr.New(9967500, "$rankFusion has a weight for '%s', but no pipeline of that name", it.Name)
	}
	return nil
}

// ReadsBySelf reports a pipeline whose first stage reads its collection by
// pipelines of its own, so that the stages of a view come before those.
func (p *Pipeline) ReadsBySelf() bool {
	return len(p.stages) > 0 && p.stages[0].Constraints().BySelf
}

func (s *rankFusionStage) Name() string             { return rankFusion }
func (s *rankFusionStage) Constraints() Constraints { return stageRankFusion.Constraints }
func (s *rankFusionStage) Split() Split             { return merged(s) }

func (s *rankFusionStage) Append(b *bson.Builder) { b.Raw(rankFusion, s.arg) }

func (s *rankFusionStage) Reads(add func(string)) bool {
	add("")
	return true
}

// scoreOrder is the order of the documents: by score, then by _id.
var scoreOrder = order.Pattern{Parts: []order.Part{
	{Name: "score", Dir: keystring.Descending, Meta: "score"},
	{Name: "_id", Path: path.Must("_id"), Dir: keystring.Ascending},
}}

// Open makes the operators; in is nil unless the stage stands in a $facet, whose
// documents it ranks then.
func (s *rankFusionStage) Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	ranked := &rankedOp{base: base{in: in, stage: s}, rankFusionStage: s, opener: o, spool: spool{what: rankFusion}}
	grouped, err := s.group.Open(env, ranked, o)
	if err != nil {
		return nil, err
	}
	return &fusionOp{base: base{stage: s}, sorted: exec.Sort(&scoreOp{in: grouped, rankFusionStage: s}, &scoreOrder, 0)}, nil
}
