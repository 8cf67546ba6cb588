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
	if s.left > 0 {
		if ended, err := s.drop(env); ended || err != nil {
			return nil, err
		}
	}
	r, err := s.read(env)
	if r != nil {
		s.Returned++
	}
	return r, err
}

// drop reads the rows that are dropped, and reports whether the input ended meanwhile.
func (s *skip) drop(env *mql.Env) (ended bool, err error) {
	dropFrom(s.in, true)
	defer dropFrom(s.in, false)
	if ok, ended, err := s.dropCounted(env); ok || err != nil {
		return ended, err
	}
	for ; s.left > 0; s.left-- {
		r, err := s.read(env)
		if r == nil || err != nil {
			return true, err
		}
		if s.node.Charged && r.Doc == nil {
			env.Meter.Add(r.Shard, ratelimit.CountEntry, 1)
		}
	}
	return false, nil
}

// dropCounted is drop for an input that counts its rows without delivering them; ok is false if rows must be dropped one
// by one, perhaps after others were counted.
func (s *skip) dropCounted(env *mql.Env) (ok, ended bool, err error) {
	n, ok, err := countRowsOf(env, s.in, s.left, func(shard int, n int64) {
		if s.node.Charged {
			env.Meter.Add(shard, ratelimit.CountEntry, n)
		}
	})
	s.Works += n
	s.left -= n
	s.Done = ok && s.left > 0
	return ok, s.Done, err
}

// read reads a row of the input.
func (s *skip) read(env *mql.Env) (*Row, error) {
	r, err := s.in.Next(env)
	if r == nil || err != nil {
		s.Done = err == nil
		return nil, err
	}
	s.Works++
	return r, nil
}

func (s *skip) Explain(b *bson.Builder, stats bool) {
	explainStage(b, s.node, &s.Counters, stats, s.in)
}
func (s *skip) Close() { s.in.Close() }

// dropping implements rowDropper.
func (s *indexScan) dropping(on bool) { s.bare = on && s.node.Filter == nil }

// dropping implements rowDropper.
func (s *recordScan) dropping(on bool) { s.bare = on && s.node.Filter == nil && !s.node.Count }

// dropping implements rowDropper.
func (l *limit) dropping(on bool) { dropFrom(l.in, on) }

// dropping implements rowDropper.
func (p *ShardPart) dropping(on bool) { dropFrom(p.in, on) }

// dropping implements rowDropper.
func (c *concat) dropping(on bool) {
	for _, in := range c.in[c.at:] {
		dropFrom(in, on)
	}
}

// dropping implements rowDropper. Rows that are only counted are not read ahead.
func (p *prefetch) dropping(on bool) {
	if !p.begun {
		p.direct = on
		dropFrom(p.in, on)
	}
}

// dropFrom calls dropping of an operator that implements rowDropper.
func dropFrom(in Operator, on bool) {
	if d, ok := in.(rowDropper); ok {
		d.dropping(on)
	}
}
