package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

var stageSkip = StageDef{Name: "$skip", Parse: parseSkip, Constraints: Constraints{KeepsOrder: true}, Doc: "reference/operator/aggregation/skip"}

// skipStage drops the first n documents.
type skipStage struct{ n int64 }

func parseSkip(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	n, err := wantCount(arg, 5107200, "$skip")
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
