package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
)

// tally is an operator that replaces the scan of one shard, if a query needs only the number of rows and the
// server has this number already.
type tally struct {
	node    *plan.FastCount
	shard   int
	rows    int64 // all
	left    int64 // not delivered yet
	charged bool
	row     Row
}

func newTally(n *plan.FastCount, src Source) *tally {
	rows := src.Counts[src.Shard.ID]
	return &tally{node: n, shard: int(src.Shard.ID), rows: rows, left: rows}
}

// charge charges the request units, once. Errors: *ratelimit.CapReached, before the rows are charged.
func (t *tally) charge(env *mql.Env) error {
	if t.charged {
		return nil
	}
	if t.node.Priced {
		if err := env.Meter.CheckCapFor(ratelimit.CountEntry, t.rows); err != nil {
			return err
		}
	}
	t.charged = true
	t.node.Charge(env.Meter, t.shard, t.rows)
	return env.Meter.CheckCap()
}

// countRows implements rowCounter.
func (t *tally) countRows(env *mql.Env, most int64, _ func(shard int, n int64)) (n int64, ok bool, err error) {
	if err := t.charge(env); err != nil {
		return 0, false, err
	}
	n = min(most, t.left)
	t.left -= n
	return n, true, nil
}

// Next implements Operator. It returns rows without a document.
func (t *tally) Next(env *mql.Env) (*Row, error) {
	if err := t.charge(env); err != nil {
		return nil, err
	}
	if t.left <= 0 {
		return nil, nil
	}
	t.left--
	t.row = Row{Shard: t.shard}
	return &t.row, nil
}

// Explain implements Operator.
func (t *tally) Explain(b *bson.Builder, stats bool) {
	c := Counters{Done: t.charged}
	if t.charged {
		c.Works = 1
	}
	explainNode(b, t.node, &c, stats)
	if stats && t.charged {
		b.Int("nCounted", plan.Window(t.rows, t.node.Skip, t.node.Limit))
		b.Int("nSkipped", min(t.rows, t.node.Skip))
	}
}

// Close implements Operator.
func (t *tally) Close() { t.left = 0 }

// Park implements Operator. A tally holds nothing.
func (t *tally) Park() (int, bool) { return 0, true }
