package exec

import (
	"math"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// rowCounter is an operator that counts its next rows at less cost than it delivers them.
type rowCounter interface {
	// countRows counts up to most rows, and returns their number and their shard. ok is false if the operator can only
	// deliver rows; without ok and without an error, it has read none.
	countRows(env *mql.Env, most int64) (n int64, shard int, ok bool, err error)
}

// CountRows returns the number of rows of an operator, which it reads to its end and closes there. Errors: see Drain.
func CountRows(env *mql.Env, in Operator) (n int64, err error) {
	if t, ok := in.(*Tally); ok {
		return t.Take(env), nil
	}
	if c, ok := in.(rowCounter); ok {
		if n, _, ok, err = c.countRows(env, math.MaxInt64); ok || err != nil {
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

// countRows implements rowCounter: entries that are all rows are counted without a look at them.
func (s *indexScan) countRows(env *mql.Env, most int64) (n int64, shard int, ok bool, err error) {
	shard = int(s.src.Shard.ID)
	if !s.uniform || !s.node.Count && !s.bare || s.src.Trial != nil {
		return 0, shard, false, nil
	}
	defer func() {
		s.Works += n
		s.KeysExamined += n
		s.Returned += n
		if s.node.Count {
			env.Meter.Add(shard, ratelimit.CountEntry, n)
		}
	}()
	s.visit(env)
	for n < most && !s.Done {
		if s.it == nil {
			if err := s.open(env); err != nil {
				return n, shard, false, err
			}
			continue
		}
		s.under(env)
		for n < most && s.it.Next() {
			n++
			if err := env.Tick(); err != nil {
				return n, shard, false, err
			}
		}
		if n < most {
			if err := s.endRange(); err != nil {
				return n, shard, false, err
			}
		}
	}
	return n, shard, true, nil
}
