package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// A stage that needs only the number of rows takes that number from a plan.FastCount, without reading rows, or counts the
// rows: $count, and $group with a constant _id and sums of constant integers, which drivers send for countDocuments.

// addendMax limits the constant that a $sum adds per row, so that the sum over all possible documents fits into
// 64 bits.
const addendMax = 1 << 20

// tallies reports whether the stage needs only the number of its rows.
func (s *groupStage) tallies() bool {
	if _, ok := expr.IsConstant(s.id); !ok || s.mode == groupMerge {
		return false
	}
	for _, o := range s.out {
		if _, ok := addend(o.fn); !ok {
			return false
		}
	}
	return true
}

// addend returns the integer that a $sum of a constant adds for every row; ok is false for other accumulators, other
// types and constants beyond ±addendMax.
func addend(f Func) (v bson.Value, ok bool) {
	u, _ := f.(*unaryFunc)
	if u == nil || u.name != accSum.Name {
		return v, false
	}
	v, ok = expr.IsConstant(u.arg)
	if !ok || v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64 {
		return v, false
	}
	n, _ := v.Int64()
	return v, -addendMax <= n && n <= addendMax
}

// takeTally adds all rows to their group at once: those that a plan.FastCount counts, or those of another input, which it
// counts itself. ok is false if the stage needs rows.
func (o *groupOp) takeTally(env *mql.Env) (ok bool, err error) {
	if !o.tallies() {
		return false, nil
	}
	n, err := exec.CountRows(env, o.in)
	if n == 0 || err != nil {
		return true, err
	}
	o.scratch.Reset()
	g, err := o.groupOf(env, &exec.Row{})
	if err != nil {
		return true, err
	}
	for i, out := range o.out {
		v, _ := addend(out.fn)
		g.states[i].(*unaryState).valueState.(*sumState).takeTimes(v, n)
	}
	return true, o.table.count(env, 0)
}

// takeTimes adds a number n times.
func (t *sumState) takeTimes(v bson.Value, n int64) {
	t.sum.AddTimes(v, n)
	t.wide.add(v.Type)
}
