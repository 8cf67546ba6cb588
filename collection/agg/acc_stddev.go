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
func startStdDevSamp(*mql.Env) valueState { return &stdDevState{less: 1} }

// stdDevState keeps count, mean and the sum of squared distances from the mean,
// updated one number at a time (Welford).
type stdDevState struct {
	less     int64 // 1 for a sample, 0 for the population
	n        int64
	mean, m2 float64
	odd      int64 // NaN and infinities among the n
}

func (t *stdDevState) take(_ *mql.Env, v bson.Value) (int, error) {
	if !v.IsNumber() {
		return 0, nil
	}
	x, _ := v.AsFloat()
	t.n++
	if math.IsNaN(x) || math.IsInf(x, 0) {
		t.odd++
		return 0, nil
	}
	delta := x - t.mean
	t.mean += delta / float64(t.n-t.odd)
	t.m2 += delta * (x - t.mean)
	return 0, nil
}

func (t *stdDevState) drop(_ *mql.Env, v bson.Value) error {
	if !v.IsNumber() {
		return nil
	}
	x, _ := v.AsFloat()
	t.n--
	if math.IsNaN(x) || math.IsInf(x, 0) {
		t.odd--
		return nil
	}
	if t.n == t.odd {
		t.mean, t.m2 = 0, 0
		return nil
	}
	delta := x - t.mean
	t.mean -= delta / float64(t.n-t.odd)
	t.m2 = max(0, t.m2-delta*(x-t.mean))
	return nil
}

func (t *stdDevState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	d, _ := partial.Doc()
	n, ok := d.Get("n").Int64()
	odd, ok2 := d.Get("odd").Int64()
	if !ok || !ok2 {
		return 0, badPartial("$stdDev")
	}
	mean, _ := d.Get("mean").Double()
	m2, _ := d.Get("m2").Double()
	a, b := float64(t.n-t.odd), float64(n-odd)
	if b > 0 {
		delta := mean - t.mean
		t.mean += delta * b / (a + b)
		t.m2 += m2 + delta*delta*a*b/(a+b)
	}
	t.n += n
	t.odd += odd
	return 0, nil
}

func (t *stdDevState) Partial(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Int64("n", t.n)
	b.Int64("odd", t.odd)
	b.Double("mean", t.mean)
	b.Double("m2", t.m2)
	b.End()
}

func (t *stdDevState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	switch {
	case t.n-t.less <= 0:
		b.Null(name)
	case t.odd > 0:
		b.Double(name, math.NaN())
	default:
		b.Double(name, math.Sqrt(t.m2/float64(t.n-t.less)))
	}
	return nil
}
