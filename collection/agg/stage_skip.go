package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

var stageSkip = StageDef{Name: "$skip", Parse: parseSkip, Constraints: Constraints{KeepsOrder: true}, Selects: always,
	Doc: "reference/operator/aggregation/skip"}

// skipStage drops the first n documents.
type skipStage struct{ n int64 }

func parseSkip(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	n, err := countArg(arg, 5107200, "$skip")
	if err != nil {
		return nil, err
	}
	return []Stage{&skipStage{n}}, nil
}

func (s *skipStage) Name() string             { return "$skip" }
func (s *skipStage) Constraints() Constraints { return stageSkip.Constraints }
func (s *skipStage) Split() Split             { return merged(s) }
func (s *skipStage) Append(b *bson.Builder)   { b.Int64("$skip", s.n) }
func (s *skipStage) Reads(func(string)) bool  { return false }

func (s *skipStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &skipOp{base: base{in: in, stage: s}, left: s.n}, nil
}

type skipOp struct {
	base
	left int64
}

func (o *skipOp) Next(env *mql.Env) (*exec.Row, error) {
	for {
		r, err := o.in.Next(env)
		if r == nil || err != nil {
			return nil, err
		}
		if o.left > 0 {
			o.left--
			if err := env.Tick(); err != nil {
				return nil, err
			}
			continue
		}
		o.returned++
		return r, nil
	}
}

func (o *skipOp) Park() (int, bool) { return o.in.Park() }

// passesAll reports whether nothing is skipped: see isNothing.
func (s *skipStage) passesAll() bool { return s.n == 0 }

// absorb adds up the skips of two stages.
func (s *skipStage) absorb(rest []Stage) ([]Stage, int) {
	if b, ok := rest[0].(*skipStage); ok && s.n <= math.MaxInt64-b.n {
		return []Stage{&skipStage{s.n + b.n}}, 1
	}
	return nil, 0
}
