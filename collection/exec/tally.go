package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// Tally is an operator that replaces the scan of one shard, if a query needs only the number of rows and the
// server has this number already. It charges the request units that the scan would cost.
type Tally struct {
	shard   int
	rows    int64
	charged bool
	row     Row
}

// NewTally makes a Tally.
func NewTally(shard int, rows int64) *Tally { return &Tally{shard: shard, rows: rows} }

// Take returns the number of rows that are left, and takes them. The first call charges the request units of
// the scan.
func (t *Tally) Take(env *mql.Env) int64 {
	if !t.charged {
		t.charged = true
		env.Meter.Visit(t.shard, 1)
		if t.rows > 0 {
			env.Meter.Add(t.shard, ratelimit.CountEntry, t.rows)
		}
	}
	n := t.rows
	t.rows = 0
	return n
}

// Next implements Operator. It returns rows without a document.
func (t *Tally) Next(env *mql.Env) (*Row, error) {
	n := t.Take(env)
	if n == 0 {
		return nil, nil
	}
	t.rows = n - 1
	t.row = Row{Shard: t.shard}
	return &t.row, nil
}

// Explain implements Operator.
func (t *Tally) Explain(b *bson.Builder, _ bool) { b.String("stage", "TALLY") }

// Close implements Operator.
func (t *Tally) Close() { t.rows = 0 }

// Park implements Operator. A Tally holds nothing.
func (t *Tally) Park() (int, bool) { return 0, true }
