package exec

import (
	"math"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// rowCounter is an operator that counts its next rows at less cost than it delivers them.
type rowCounter interface {
	// countRows counts up to most rows, and returns their number. It calls counted, if that is not nil, with the shard
	// of the rows. ok is false if the operator can only deliver the rows that follow; fewer rows than most are
	// otherwise all.
	countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error)
}

// CountRows returns the number of rows of an operator, which it reads to its end and closes there. Errors: see Drain.
func CountRows(env *mql.Env, in Operator) (n int64, err error) {
	if c, ok := in.(rowCounter); ok {
		if n, ok, err = c.countRows(env, math.MaxInt64, nil); ok || err != nil {
			if err == nil {
				in.Close()
			}
			return n, err
		}
	}
	err = Drain(env, in, func(*Row) error {
		n++
		return nil
	})
	return n, err
}

// countRowsOf is countRows of an operator, which may be no rowCounter.
func countRowsOf(env *mql.Env, in Operator, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	c, ok := in.(rowCounter)
	if !ok {
		return 0, false, nil
	}
	return c.countRows(env, most, counted)
}

// countRows implements rowCounter: entries that are all rows are counted without a look at them.
func (s *indexScan) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	shard := int(s.src.Shard.ID)
	if !s.uniform || !s.node.Count && !s.bare || s.src.Trial != nil {
		return 0, false, nil
	}
	defer func() {
		s.Works += n
		s.KeysExamined += n
		s.Returned += n
		if s.node.Count {
			env.Meter.Add(shard, ratelimit.CountEntry, n)
		}
		if counted != nil && n > 0 {
			counted(shard, n)
		}
	}()
	if err := s.visit(env); err != nil {
		return 0, false, err
	}
	for n < most && !s.Done {
		if s.it == nil {
			if err := s.open(env); err != nil {
				return n, false, err
			}
			continue
		}
		s.under(env)
		for n < most && s.it.Next() {
			n++
			if err := env.Tick(); err != nil {
				return n, false, err
			}
		}
		if n < most {
			if err := s.endRange(); err != nil {
				return n, false, err
			}
		}
	}
	return n, true, nil
}

// countRows implements rowCounter: it counts the rows of one input after the other.
func (c *concat) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	for n < most && c.at < len(c.in) {
		k, ok, err := countRowsOf(env, c.in[c.at], most-n, counted)
		if n += k; !ok || err != nil {
			return n, false, err
		}
		if n < most {
			c.in[c.at].Close()
			c.at++
		}
	}
	return n, true, nil
}

// countRows implements rowCounter. Rows that are read ahead are not counted.
func (p *prefetch) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	if !p.direct {
		return 0, false, nil
	}
	return countRowsOf(env, p.in, most, counted)
}

// countRows implements rowCounter.
func (l *limit) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	n, ok, err = countRowsOf(env, l.in, min(most, l.left), counted)
	l.left -= n
	l.Works += n
	l.Returned += n
	l.Done = l.Done || ok && n < most
	return n, ok, err
}

// countRows implements rowCounter.
func (p *ShardPart) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	n, ok, err = countRowsOf(env, p.in, most, counted)
	p.delivered += n
	return n, ok, err
}
