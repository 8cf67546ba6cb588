package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// fusionStage is $rankFusion or $scoreFusion: it runs several pipelines that rank or score the documents
// of one collection, and delivers each document once, the document with the best combined score first.
type fusionStage struct {
	name    string
	ns      collection.Namespace
	inputs  []fusedInput
	scores  *scoreFusionRule // rule that combines scores; nil for ranks
	details bool             // scoreDetails are requested
	group   *groupStage      // groups the pipelines' results by document
	arg     bson.Raw
}

// fusedInput is one of the pipelines whose results a $rankFusion or $scoreFusion combines.
type fusedInput struct {
	name   string
	weight float64
	sub    *Pipeline
	// by is the order of the documents of sub; documents with equal keys share a rank. If by is nil, a
	// document's rank is its position.
	by *order.Pattern
}

// Names of the stages that combine several pipelines.
const (
	rankFusion  = "$rankFusion"
	scoreFusion = "$scoreFusion"
)

// isHybrid reports whether a stage is one of them.
func isHybrid(name string) bool { return name == rankFusion || name == scoreFusion }

// fusionConstraints are the constraints of both stages.
var fusionConstraints = Constraints{First: true, Source: true, BySelf: true, Blocking: true, NotIn: InUpdate}

// newFusion parses the fields that $rankFusion and $scoreFusion have in common. It returns the stage, and the
// fields for the caller to parse the others.
func newFusion(p *parser, name string, arg bson.Value) (*fusionStage, *specFields, error) {
	if arg.Type != bson.TypeDocument {
		return nil, nil, mongoerr.New(mongoerr.FailedToParse, "The %s stage specification must be an object, found %s", name, arg.Type)
	}
	s := &fusionStage{name: name, ns: p.ns, arg: bson.Raw(arg.Data)}
	fields := &specFields{stage: name}
	var err error
	fields.top, err = fields.read("", s.arg, map[string]bson.Type{"input": bson.TypeDocument, "combination": bson.TypeDocument, "scoreDetails": bson.TypeBool})
	s.details = fields.top["scoreDetails"].Truthy()
	return s, fields, err
}

// parseInput parses the pipelines in the field input of the stage, and returns the other fields of input. permitted
// has their names and types.
func (s *fusionStage) parseInput(p *parser, fields *specFields, permitted map[string]bson.Type) (map[string]bson.Value, error) {
	if fields.top["input"].IsMissing() {
		return nil, fields.missing("input")
	}
	permitted["pipelines"] = bson.TypeDocument
	input, err := fields.read("input.", bson.Raw(fields.top["input"].Data), permitted)
	if err != nil {
		return nil, err
	}
	if input["pipelines"].IsMissing() {
		return nil, fields.missing("input.pipelines")
	}
	return input, s.parseInputs(p, bson.Raw(input["pipelines"].Data))
}

// complete sets the $group of the stage, which does not depend on its argument, and returns a list of only the stage.
func (s *fusionStage) complete(p *parser) ([]Stage, error) {
	group, err := parseGroup(p, "$group", fusionGroup())
	if err != nil {
		return nil, err
	}
	s.group = group[0].(*groupStage)
	return []Stage{s}, nil
}

// fusionGroup returns the argument of a $group that collects the ranks (or scores) of each document, from the
// rows of rankedOp.
func fusionGroup() bson.Value {
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

// specFields reads the fields of a stage's argument and of documents embedded in it, and checks their names and
// types. Null and undefined count as absent.
type specFields struct {
	stage string
	top   map[string]bson.Value // fields of the argument itself
}

// read returns the fields of d by name. permitted has the permitted names and types; prefix precedes the names in
// errors.
//
// Errors: 40415 for an unknown field, TypeMismatch.
func (f *specFields) read(prefix string, d bson.Raw, permitted map[string]bson.Type) (map[string]bson.Value, error) {
	out := map[string]bson.Value{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		expected, ok := permitted[name]
		switch {
		case !ok:
			return nil, mongoerr.New(40415, "BSON field '%s.%s%s' is an unknown field.", f.stage, prefix, name)
		case it.Value.Type == bson.TypeNull || it.Value.Type == bson.TypeUndefined:
		case it.Value.Type != expected:
			return nil, mongoerr.WrongType(f.stage+"."+prefix+name, it.Value.Type.String(), expected.String())
		default:
			out[name] = it.Value
		}
	}
	return out, nil
}

// missing returns the error for a missing required field.
func (f *specFields) missing(name string) error {
	return mongoerr.New(40414, "BSON field '%s.%s' is missing but a required field", f.stage, name)
}

// parseInputs parses the named pipelines of the stage into inputs.
//
// Errors: BadValue for no pipeline; TypeMismatch for one that is no array of documents; 15998, 16410 and 16412 for
// bad names; errors of parseFused.
func (s *fusionStage) parseInputs(p *parser, pipelines bson.Raw) error {
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
			return mongoerr.WrongType(s.name+".input.pipelines."+name, it.Value.Type.String(), "array")
		}
		stages, ok := pipelineDocs(it.Value)
		if !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the pipeline '%s' of %s must be an object", name, s.name)
		}
		in, err := s.parseFused(p, name, stages)
		if err != nil {
			return err
		}
		s.inputs = append(s.inputs, in)
	}
	if len(s.inputs) == 0 {
		return mongoerr.New(mongoerr.BadValue, "%s needs at least one pipeline in input.pipelines", s.name)
	}
	return nil
}

// parseFused parses one pipeline of a fusion stage. The pipeline must rank or score documents, and must not
// change them.
//
// Errors: 9834300 for an empty pipeline, 10473002 and 10170100 for a fusion stage inside, 9191103 for a stage
// that changes documents, 9191100 for a pipeline without an order or, in $scoreFusion, without scores;
// errors of the stages' parsers.
func (s *fusionStage) parseFused(p *parser, name string, stages []bson.Raw) (fusedInput, error) {
	in := fusedInput{name: name, weight: 1}
	if len(stages) == 0 {
		return in, mongoerr.New(9834300, "The pipeline '%s' of %s must not be empty", name, s.name)
	}
	for i, raw := range stages {
		f, ok := raw.First()
		stage := string(f.Name)
		def := p.find(stage)
		switch {
		case !ok || raw.Len() != 1 || def == nil && !isHybrid(stage):
			continue // the parser reports the error
		case isHybrid(stage) && i == 0:
			return in, mongoerr.New(10473002, "%s is not allowed in the pipeline '%s' of %s", stage, name, s.name)
		case isHybrid(stage):
			return in, notFirstHybrid(stage)
		}
		if def.Selects == nil || !def.Selects(f.Value) {
			return in, mongoerr.New(9191103, "The pipeline '%s' of %s must leave the documents as they are, which %s does not", name, s.name, stage)
		}
	}
	var err error
	if in.sub, err = p.sub(p.env, p.ns, 0, stages); err != nil {
		return in, err
	}
	ranked, scored := false, in.sub.makesText()
	for _, stage := range in.sub.stages {
		switch stage := stage.(type) {
		case *scoreStage:
			scored = true
		case *sortStage:
			in.by, ranked = &stage.pattern, true
		case *geoNearStage:
			in.by, ranked = &distanceOrder, true
		case *sampleStage:
			in.by = nil
		}
	}
	switch {
	case s.name == scoreFusion && !scored:
		return in, mongoerr.New(9191100, "The pipeline '%s' of $scoreFusion must begin with a stage that scores, or have a $score", name)
	case s.name == rankFusion && !ranked:
		return in, mongoerr.New(9191100, "The pipeline '%s' of $rankFusion must begin with a stage that ranks, or have a $sort", name)
	}
	return in, nil
}

// makesText reports whether a pipeline begins with a $match by $text, which gives documents a text score.
func (p *Pipeline) makesText() bool {
	if len(p.stages) == 0 {
		return false
	}
	m, ok := p.stages[0].(*matchStage)
	return ok && match.Features(m.node)&match.UsesText != 0
}

// fusionFirst rejects a $rankFusion or $scoreFusion that is not the first stage.
// Errors: 10170100.
func fusionFirst(s Stage, before []Stage) error {
	if len(before) > 0 {
		return notFirstHybrid(s.Name())
	}
	return nil
}

// notFirstHybrid returns the error for a $rankFusion or $scoreFusion that is not the first stage.
func notFirstHybrid(name string) error {
	return mongoerr.New(10170100, "%s is only valid as the first stage in a pipeline", name)
}

// parseWeights sets the weights of the pipelines, given by the pipelines' names. The default weight is 1.
//
// Errors: 9460301 for more weights than pipelines, 9967500 for a weight whose name no pipeline has, 13118 for a
// weight that is no number, 9460300 for a weight below 0.
func (s *fusionStage) parseWeights(weights bson.Raw) error {
	if weights.Len() > len(s.inputs) {
		return mongoerr.New(9460301, "%s has %d weights for %d pipelines", s.name, weights.Len(), len(s.inputs))
	}
next:
	for it := weights.Iter(); it.Next(); {
		for i := range s.inputs {
			in := &s.inputs[i]
			if in.name != string(it.Name) {
				continue
			}
			if !it.Value.IsNumber() {
				return mongoerr.New(13118, "The weight of the pipeline '%s' of %s must be a number, found %s", in.name, s.name, it.Value.Type)
			}
			if in.weight, _ = it.Value.AsFloat(); !(in.weight >= 0) {
				return mongoerr.New(9460300, "The weight of the pipeline '%s' of %s must not be negative", in.name, s.name)
			}
			continue next
		}
		return mongoerr.New(9967500, "%s has a weight for '%s', but no pipeline of that name", s.name, it.Name)
	}
	return nil
}

// ReadsBySelf reports whether the first stage of the pipeline reads its collection by sub-pipelines, as
// $rankFusion does. The stages of a view must then precede the stages of these sub-pipelines.
func (p *Pipeline) ReadsBySelf() bool {
	return len(p.stages) > 0 && p.stages[0].Constraints().BySelf
}

// FirstName returns the name of the first stage; "" if there is none.
func (p *Pipeline) FirstName() string {
	if len(p.stages) == 0 {
		return ""
	}
	return p.stages[0].Name()
}

func (s *fusionStage) Name() string             { return s.name }
func (s *fusionStage) Constraints() Constraints { return fusionConstraints }
func (s *fusionStage) Split() Split             { return merged(s) }

func (s *fusionStage) Append(b *bson.Builder) { b.Raw(s.name, s.arg) }

func (s *fusionStage) Reads(add func(string)) bool {
	add("")
	return true
}

// scoreOrder is the order of the documents that a fusion stage delivers: by score, the best first, then by _id.
var scoreOrder = order.Pattern{Parts: []order.Part{
	{Name: "score", Dir: keystring.Descending, Meta: "score"},
	{Name: "_id", Path: path.Must("_id"), Dir: keystring.Ascending},
}}

// Open returns the operator of the stage. in is nil, except in a $facet: then the pipelines rank the documents
// of in.
func (s *fusionStage) Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	seen := newScoreRanges(len(s.inputs))
	ranked := &rankedOp{base: base{in: in, stage: s}, fusionStage: s, opener: o, spool: spool{what: s.name}, seen: seen}
	grouped, err := s.group.Open(env, ranked, o)
	if err != nil {
		return nil, err
	}
	return &fusionOp{base: base{stage: s}, sorted: exec.Sort(&scoreOp{in: grouped, fusionStage: s, seen: seen}, &scoreOrder, 0)}, nil
}
