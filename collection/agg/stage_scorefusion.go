package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageScoreFusion = StageDef{Name: scoreFusion, Parse: parseScoreFusion, Behind: fusionFirst, Unstable: always,
	Constraints: fusionConstraints,
	Doc:         "reference/operator/aggregation/scoreFusion", Since: "8.3"}

// scoreFusionRule describes how $scoreFusion combines several scores into one.
type scoreFusionRule struct {
	norm normalization
	// combine is the expression that computes a document's score. The pipelines' scores are its variables. Nil
	// means their average.
	combine expr.Expr
	text    string // combine as the client wrote it
}

// parseScoreFusion parses the argument of $scoreFusion: {input: {pipelines: …, normalization: …}, combination:
// {weights: …, method: …, expression: …}, scoreDetails: …}.
//
// Errors: the errors of $rankFusion; FailedToParse for contradictory fields of combination; BadValue for an unknown
// word; errors of expr.Parse for combination.expression.
func parseScoreFusion(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	s, fields, err := newFusion(p, scoreFusion, arg)
	if err != nil {
		return nil, err
	}
	input, err := s.parseInput(p, fields, map[string]bson.Type{"normalization": bson.TypeString})
	if err != nil {
		return nil, err
	}
	if input["normalization"].IsMissing() {
		return nil, fields.missing("input.normalization")
	}
	s.scores = &scoreFusionRule{}
	if s.scores.norm, err = parseNormalization("$scoreFusion.input.normalization", input["normalization"]); err != nil {
		return nil, err
	}
	if c := fields.top["combination"]; !c.IsMissing() {
		if err := s.parseCombination(p, fields, bson.Raw(c.Data)); err != nil {
			return nil, err
		}
	}
	return s.complete(p)
}

// parseCombination parses the field combination, by which $scoreFusion combines scores: by weights, or by an
// expression.
func (s *fusionStage) parseCombination(p *parser, fields *specFields, d bson.Raw) error {
	expression := d.Get("expression")
	if !expression.IsMissing() { // of any type
		b := bson.NewBuilder(nil)
		for it := d.Iter(); it.Next(); {
			if string(it.Name) != "expression" {
				b.ValueBytes(it.Name, it.Value)
			}
		}
		d = b.Doc()
	}
	c, err := fields.read("combination.", d, map[string]bson.Type{"weights": bson.TypeDocument, "method": bson.TypeString})
	if err != nil {
		return err
	}
	method, _ := c["method"].Str()
	byExpression := method == "expression"
	switch {
	case method != "" && method != "avg" && !byExpression:
		return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '$scoreFusion.combination.method' is not a valid value: it is avg or expression", method)
	case byExpression && expression.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "$scoreFusion: to combine by an expression, say which in combination.expression")
	case !byExpression && !expression.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "$scoreFusion: combination.expression wants the combination.method to be \"expression\"")
	case byExpression && !c["weights"].IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "$scoreFusion: combination.weights and combination.expression exclude each other")
	}
	if w := c["weights"]; !w.IsMissing() {
		return s.parseWeights(bson.Raw(w.Data))
	}
	if byExpression {
		s.scores.text = ejson.ValueString(expression)
		s.scores.combine, err = expr.Parse(s.scoresEnv(p.env, nil), expression)
	}
	return err
}

// scoresEnv returns a copy of env in which the scores of a document are variables with the names of the
// pipelines. If scores is nil, the variables are only declared.
func (s *fusionStage) scoresEnv(env *mql.Env, scores []float64) *mql.Env {
	inner := *env
	inner.Vars = env.Vars.Clone()
	var a bson.Arena
	for i := range s.inputs {
		v := bson.Null
		if scores != nil {
			v = a.Double(scores[i])
		}
		inner.Vars.Set(inner.Vars.Declare(s.inputs[i].name), v)
	}
	return &inner
}

// scoreRange holds the least and the greatest score of a pipeline.
type scoreRange struct{ least, greatest float64 }

// scoreRanges holds the ranges of all pipelines.
type scoreRanges []scoreRange

func newScoreRanges(n int) scoreRanges {
	ranges := make(scoreRanges, n)
	for i := range ranges {
		ranges[i] = scoreRange{math.Inf(1), math.Inf(-1)}
	}
	return ranges
}

// scored returns the row for a document of the running pipeline with its score, and records the range of the
// scores.
func (o *rankedOp) scored(env *mql.Env, r *exec.Row) (*exec.Row, error) {
	v := r.Meta.Get("score")
	if v.IsMissing() {
		v = r.Meta.Get("textScore")
	}
	score, ok := v.AsFloat()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$scoreFusion: the pipeline '%s' gave a document no score: end it with $score", o.inputs[o.input].name)
	}
	seen := &o.seen[o.input]
	seen.least, seen.greatest = min(seen.least, score), max(seen.greatest, score)
	b := o.begin()
	b.Value("_id", r.Doc.Get("_id"))
	b.Raw("doc", r.Doc)
	b.BeginDoc("at")
	b.Int32("input", int32(o.input))
	b.Double("score", score)
	if own, ok := r.Meta.Get("scoreDetails").Doc(); ok && o.details {
		b.Raw("details", own)
	}
	b.End()
	return o.end(env, nil)
}

// scoreSums holds the scores of one document, by pipeline.
type scoreSums struct {
	present []bool
	raw     []float64
	details []bson.Raw // scoreDetails of the pipelines that make them
	weighed []float64  // normalized and multiplied by the weight; 0 for a pipeline without the document
	scratch expr.Scratch
}

// combined returns the row of a document with the score that is combined from the pipelines' scores.
func (o *scoreOp) combined(env *mql.Env, r *exec.Row) (*exec.Row, error) {
	s, n := &o.sums, len(o.inputs)
	if s.present == nil {
		s.present, s.raw, s.weighed, s.details = make([]bool, n), make([]float64, n), make([]float64, n), make([]bson.Raw, n)
	}
	clear(s.present)
	clear(s.raw)
	clear(s.weighed)
	clear(s.details)
	scores, _ := r.Doc.Get("ranks").Array()
	for v := range scores.Values() {
		at := bson.Raw(v.Data)
		i, _ := at.Get("input").Int32()
		s.present[i] = true
		s.raw[i], _ = at.Get("score").Double()
		s.details[i], _ = at.Get("details").Doc()
		s.weighed[i] = o.scores.norm.of(s.raw[i], o.seen[i].least, o.seen[i].greatest) * o.inputs[i].weight
	}
	doc, _ := r.Doc.Get("doc").Doc()
	score := 0.0
	if o.scores.combine == nil {
		for _, f := range s.weighed {
			score += f / float64(n)
		}
	} else {
		s.scratch.Reset()
		v, err := o.scores.combine.Eval(o.scoresEnv(env, s.weighed), doc, &s.scratch)
		if err != nil {
			return nil, err
		}
		var ok bool
		if score, ok = v.AsFloat(); !ok {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "$scoreFusion: combination.expression has to come to a number, and came to type %s", v.Type)
		}
	}
	o.row = exec.Row{Doc: doc, Meta: o.combinedMeta(score)}
	return &o.row, env.Tick()
}

// combinedMeta makes the metadata.
// Manual: reference/operator/aggregation/scoreFusion#scoredetails.
func (o *scoreOp) combinedMeta(score float64) bson.Raw {
	b := &o.meta
	b.Reset(o.buf[:0])
	b.Double("score", score)
	if o.details {
		b.BeginDoc("scoreDetails")
		b.Double("value", score)
		b.String("description", "score fusion: the scores of the pipelines, normalized and weighed, combined into one")
		b.String("normalization", string(o.scores.norm))
		b.BeginDoc("combination")
		if o.scores.combine == nil {
			b.String("method", "avg")
		} else {
			b.String("method", "custom expression")
			b.String("expression", o.scores.text)
		}
		b.End()
		b.BeginArray("details")
		for i, in := range o.inputs {
			if !o.sums.present[i] {
				continue // the array has only the pipelines that delivered the document
			}
			b.BeginDoc("")
			b.String("inputPipelineName", in.name)
			b.Double("inputPipelineRawScore", o.sums.raw[i])
			b.Double("weight", in.weight)
			b.Double("value", o.sums.weighed[i])
			if own := o.sums.details[i]; own != nil {
				b.Raw("details", own)
			} else {
				b.BeginArray("details")
				b.End()
			}
			b.End()
		}
		b.End()
		b.End()
	}
	o.buf = b.Finish()
	return bson.Raw(o.buf)
}
