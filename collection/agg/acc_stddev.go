package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	accStdDevPop  = AccumulatorDef{Name: "$stdDevPop", Parse: unary(startStdDevPop), Doc: "reference/operator/aggregation/stdDevPop"}
	accStdDevSamp = AccumulatorDef{Name: "$stdDevSamp", Parse: unary(startStdDevSamp), Doc: "reference/operator/aggregation/stdDevSamp"}
)

func startStdDevPop(*mql.Env) valueState  { return &stdDevState{} }
func startStdDevSamp(*mql.Env) valueState { return &stdDevState{sample: true} }

// stdDevState computes the standard deviation of numbers.
type stdDevState struct {
	expr.Deviation
	sample bool
}

func (t *stdDevState) take(_ *mql.Env, v bson.Value) (int, error) {
	t.Add(v)
	return 0, nil
}

// isFinite reports whether v is neither infinite nor NaN. A number that is not finite cannot be subtracted from
// a sum again, when it leaves a window.
func isFinite(v bson.Value) bool {
	f, ok := v.AsFloat()
	return !ok || !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (t *stdDevState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	d, _ := partial.Doc()
	n, ok := d.Get("n").Int64()
	if !ok {
		return 0, badPartial("$stdDevPop")
	}
	mean, _ := d.Get("mean").Double()
	m2, _ := d.Get("m2").Double()
	t.Deviation.Merge(expr.DeviationOf(n, mean, m2))
	return 0, nil
}

func (t *stdDevState) Partial(b *bson.Builder, name string) {
	n, mean, m2 := t.State()
	b.BeginDoc(name)
	b.Int64("n", n)
	b.Double("mean", mean)
	b.Double("m2", m2)
	b.End()
}

func (t *stdDevState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	b.Value(name, t.Value(&s.Arena, t.sample))
	return nil
}

// slidingStdDev computes the standard deviation in a window of $setWindowFields that documents enter and leave.
// While the window contains a number that is not finite, the result is null.
type slidingStdDev struct {
	stdDevState
	odd int // numbers that are not finite
}

func (t *slidingStdDev) take(env *mql.Env, v bson.Value) (int, error) {
	if !isFinite(v) {
		t.odd++
		return 0, nil
	}
	return t.stdDevState.take(env, v)
}

func (t *slidingStdDev) drop(_ *mql.Env, v bson.Value) bool {
	if !isFinite(v) {
		t.odd--
		return true
	}
	t.Remove(v)
	return true
}

func (t *slidingStdDev) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	n, _, _ := t.State()
	switch {
	case t.odd > 0:
		b.Null(name)
	case n == 1 && !t.sample:
		b.Int32(name, 0)
	default:
		b.Value(name, t.Value(&s.Arena, t.sample))
	}
	return nil
}
