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

var stageScore = StageDef{Name: "$score", Parse: parseScore, Selects: always, Unstable: always,
	Constraints: Constraints{NotIn: InUpdate | InView}, Since: "8.2", Doc: "reference/operator/aggregation/score"}

// scoreStage is $score: it gives each document a score, {$meta: "score"}, and does not change the document.
type scoreStage struct {
	score   expr.Expr
	norm    normalization
	weight  float64
	details bool   // scoreDetails are requested
	text    string // score as the client wrote it, for the details
	arg     bson.Raw
}

// normalization is the name of a method that maps scores to values between 0 and 1, or none.
type normalization string

// The normalizations. Manual: reference/operator/aggregation/score#fields.
const (
	normNone    normalization = "none"
	normSigmoid normalization = "sigmoid"
	normMinMax  normalization = "minMaxScaler"
)

// parseNormalization returns a normalization by its name.
//
// Errors: BadValue.
func parseNormalization(field string, v bson.Value) (normalization, error) {
	name, _ := v.Str()
	switch n := normalization(name); n {
	case normNone, normSigmoid, normMinMax:
		return n, nil
	}
	return "", mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value: it is none, sigmoid or minMaxScaler", name, field)
}

// of returns a normalized score. Only minMaxScaler uses least and greatest, the extremes of all scores; if they
// are equal, the result is 0.
func (n normalization) of(score, least, greatest float64) float64 {
	switch n {
	case normSigmoid:
		return 1 / (1 + math.Exp(-score))
	case normMinMax:
		if least == greatest {
			return 0
		}
		return (score - least) / (greatest - least)
	}
	return score
}

// parseScore parses the argument of $score: {score: …, scoreDetails: …, normalization: …, weight: …}.
//
// Errors: FailedToParse, 40414, 40415, TypeMismatch, BadValue; errors of expr.Parse.
func parseScore(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, ok := arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The $score stage specification must be an object, found %s", arg.Type)
	}
	s := &scoreStage{norm: normNone, weight: 1, arg: d}
	var err error
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "score":
			if s.score, err = expr.Parse(p.env, it.Value); err != nil {
				return nil, err
			}
			s.text = ejson.ValueString(it.Value)
		case "scoreDetails":
			if s.details, ok = it.Value.Boolean(); !ok {
				return nil, mongoerr.WrongType("$score.scoreDetails", it.Value.Type.String(), "bool")
			}
		case "normalization":
			if it.Value.Type != bson.TypeString {
				return nil, mongoerr.WrongType("$score.normalization", it.Value.Type.String(), "string")
			}
			if s.norm, err = parseNormalization("$score.normalization", it.Value); err != nil {
				return nil, err
			}
		case "weight":
			e, err := expr.Parse(p.env, it.Value)
			if err != nil {
				return nil, err
			}
			v, constant := expr.IsConstant(e)
			if s.weight, ok = v.AsFloat(); !constant || !ok {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$score: the weight has to be a constant number")
			}
			if !(s.weight >= 0 && s.weight <= 1) {
				return nil, mongoerr.New(mongoerr.BadValue, "$score: the weight has to be between 0 and 1, and is %v", s.weight)
			}
		default:
			return nil, mongoerr.New(40415, "BSON field '$score.%s' is an unknown field.", name)
		}
	}
	if s.score == nil {
		return nil, mongoerr.New(40414, "BSON field '$score.score' is missing but a required field")
	}
	return []Stage{s}, nil
}

func (s *scoreStage) Name() string           { return stageScore.Name }
func (s *scoreStage) Append(b *bson.Builder) { b.Raw(stageScore.Name, s.arg) }

func (s *scoreStage) Constraints() Constraints {
	c := stageScore.Constraints
	if s.norm == normMinMax {
		c.Blocking = true
	} else {
		c.OneToOne, c.KeepsOrder = true, true
	}
	return c
}

// Split runs the stage on the merged rows, with the stages that read the scores, because metadata does not
// leave a shard.
func (s *scoreStage) Split() Split { return merged(s) }

func (s *scoreStage) Reads(add func(string)) bool {
	s.score.Paths(add)
	return false
}

func (s *scoreStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	o := &scoringOp{base: base{in: in, stage: s}, scoreStage: s, least: math.Inf(1), greatest: math.Inf(-1), spool: spool{what: "$score"}}
	o.cursor = spoolCursor{s: &o.spool}
	return o, nil
}

// scoringOp is the operator of $score. For minMaxScaler it reads its whole input first.
type scoringOp struct {
	base
	maker
	*scoreStage
	least, greatest float64
	spool           spool // {doc, meta, score}
	cursor          spoolCursor
	at              int
	loaded          bool
	metaBuilder     bson.Builder
	metaBuf         []byte
}

func (o *scoringOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.norm == normMinMax {
		return o.nextScaled(env)
	}
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	score, err := o.raw(env, r)
	if err != nil {
		return nil, err
	}
	o.returned++
	o.row = *r
	o.row.Meta = o.withScore(r.Meta, score)
	return &o.row, env.Tick()
}

// raw returns the score of a row before normalization.
//
// Errors: TypeMismatch; errors of the expression.
func (o *scoringOp) raw(env *mql.Env, r *exec.Row) (float64, error) {
	o.setRow(r)
	v, err := o.score.Eval(env, r.Doc, &o.scratch)
	if err != nil {
		return 0, err
	}
	f, ok := v.AsFloat()
	if !ok {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "$score: the score of a document has to be a number, and is of type %s", v.Type)
	}
	return f, nil
}

// withScore returns the metadata of a row with the score computed from raw, and with the details of the score
// if requested.
// Manual: reference/operator/aggregation/score#scoredetails.
func (o *scoringOp) withScore(meta bson.Raw, raw float64) bson.Raw {
	score := o.norm.of(raw, o.least, o.greatest) * o.weight
	b := &o.metaBuilder
	b.Reset(o.metaBuf[:0])
	for it := meta.Iter(); it.Next(); {
		if name := string(it.Name); name != "score" && name != "scoreDetails" {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.Double("score", score)
	if o.details {
		b.BeginDoc("scoreDetails")
		b.Double("value", score)
		b.String("description", "score: the expression's number, normalized, and multiplied by the weight")
		b.Double("rawScore", raw)
		b.String("normalization", string(o.norm))
		b.Double("weight", o.weight)
		b.String("expression", o.text)
		b.BeginArray("details")
		b.End()
		b.End()
	}
	o.metaBuf = b.Finish()
	return bson.Raw(o.metaBuf)
}

// nextScaled is Next for minMaxScaler, which needs all scores first.
func (o *scoringOp) nextScaled(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		if err := exec.Drain(env, o.in, func(r *exec.Row) error { return o.load(env, r) }); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	if o.at == o.spool.len() {
		return nil, nil
	}
	d, _, err := o.cursor.get(o.at)
	if err != nil {
		return nil, err
	}
	o.at++
	o.returned++
	doc, _ := d.Get("doc").Doc()
	meta, _ := d.Get("meta").Doc()
	score, _ := d.Get("score").Double()
	o.row = exec.Row{Doc: doc, Meta: o.withScore(meta, score)}
	return &o.row, env.Tick()
}

// load stores a row with its score.
func (o *scoringOp) load(env *mql.Env, r *exec.Row) error {
	score, err := o.raw(env, r)
	if err != nil {
		return err
	}
	o.least, o.greatest = min(o.least, score), max(o.greatest, score)
	b := o.begin()
	b.Raw("doc", r.Doc)
	if meta := o.metas.metaToStore(r); len(meta) > 0 {
		b.Raw("meta", meta)
	}
	b.Double("score", score)
	return o.spool.add(env, bson.Raw(b.Finish()), nil)
}

// Park parks the input; once minMaxScaler has read the whole input, nothing is left to park. The operator holds no rows
// of the input but the copies in its spool.
func (o *scoringOp) Park() (int, bool) {
	if o.loaded {
		return 0, true
	}
	return o.in.Park()
}

func (o *scoringOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.spool.close()
}
