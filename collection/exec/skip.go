package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
)

// skip drops the first rows.
type skip struct {
	Counters
	node *plan.Skip
	in   Operator
	left int64
}

// rowDropper is an operator whose rows can be dropped at less cost than they are delivered.
type rowDropper interface {
	// dropping sets whether the next rows are only counted, and need neither a document nor metadata.
	dropping(on bool)
}

// Skip drops the first n rows of an operator.
func Skip(in Operator, n int64) Operator {
	return &skip{node: &plan.Skip{N: n}, in: in, left: n}
}

func (s *skip) Next(env *mql.Env) (*Row, error) {
	for s.left > 0 {
		if d, ok := s.in.(rowDropper); ok {
			d.dropping(true)
		}
		r, err := s.in.Next(env)
		if r == nil || err != nil {
			s.Done = err == nil
			return nil, err
		}
		s.Works++
		if s.left--; s.node.Charged && r.Doc == nil {
			env.Meter.Add(r.Shard, ratelimit.CountEntry, 1)
		}
	}
	if d, ok := s.in.(rowDropper); ok {
		d.dropping(false)
	}
	r, err := s.in.Next(env)
	if r == nil || err != nil {
		s.Done = err == nil
		return nil, err
	}
	s.Works++
	s.Returned++
	return r, nil
}

func (s *skip) Explain(b *bson.Builder, stats bool) {
	explainStage(b, s.node, &s.Counters, stats, s.in)
}
func (s *skip) Close() { s.in.Close() }

// dropping implements rowDropper.
func (s *indexScan) dropping(on bool) { s.bare = on && s.node.Filter == nil }
