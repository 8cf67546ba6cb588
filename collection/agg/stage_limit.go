package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageLimit = StageDef{Name: "$limit", Parse: parseLimit, Constraints: Constraints{KeepsOrder: true}, Selects: always,
	Doc: "reference/operator/aggregation/limit"}

// limitStage ends the stream after n documents.
type limitStage struct{ n int64 }

func parseLimit(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	n, err := countArg(arg, 5107201, "$limit")
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, mongoerr.New(15958, "the limit must be positive")
	}
	return []Stage{&limitStage{n}}, nil
}

// countArg returns the argument of $limit or $skip: a non-negative integer of any numeric type.
func countArg(v bson.Value, code mongoerr.Code, name string) (int64, error) {
	if !v.IsNumber() {
		return 0, mongoerr.New(code, "invalid argument to %s stage: Expected a number in: %s", name, name)
	}
	n, ok := v.AsInt64()
	switch {
	case !ok:
		return 0, mongoerr.New(code, "invalid argument to %s stage: Expected an integer: %s", name, name)
	case n < 0:
		return 0, mongoerr.New(code, "invalid argument to %s stage: Expected a non-negative number in: %s", name, name)
	}
	return n, nil
}

func (s *limitStage) Name() string             { return "$limit" }
func (s *limitStage) Constraints() Constraints { return stageLimit.Constraints }
func (s *limitStage) Split() Split             { return Split{Shards: []Stage{s}, Merge: []Stage{s}} }
func (s *limitStage) Append(b *bson.Builder)   { b.Int64("$limit", s.n) }
func (s *limitStage) Reads(func(string)) bool  { return false }

func (s *limitStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &limitOp{base: base{in: in, stage: s}, left: s.n}, nil
}

type limitOp struct {
	base
	left int64
}

func (o *limitOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.left <= 0 {
		return nil, nil
	}
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	o.left--
	o.returned++
	return r, nil
}

func (o *limitOp) Park() (int, bool) { return o.in.Park() }

// absorb merges two limits into the smaller one.
func (s *limitStage) absorb(rest []Stage) ([]Stage, int) {
	if b, ok := rest[0].(*limitStage); ok {
		return []Stage{&limitStage{min(s.n, b.n)}}, 1
	}
	return nil, 0
}
