package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	winCovariancePop  = WindowFunctionDef{Name: "$covariancePop", parse: parseCovariance, Doc: "reference/operator/aggregation/covariancePop"}
	winCovarianceSamp = WindowFunctionDef{Name: "$covarianceSamp", parse: parseCovariance, Doc: "reference/operator/aggregation/covarianceSamp"}
)

func parseCovariance(p *parser, c *windowCall) (windowFunc, error) {
	e, err := expr.Parse(p.env, c.arg)
	if err != nil {
		return nil, err
	}
	w := c.window
	if w == nil {
		whole := wholeWindow
		w = &whole
	}
	sample := c.name == "$covarianceSamp"
	return &windowed{&unaryFunc{c.name, e, func(*mql.Env) valueState { return &covarianceState{sample: sample} }}, w}, nil
}

// covarianceState is the covariance of pairs of numbers, updated one pair at a
// time. It is an accumulator of windows only and has no partial.
type covarianceState struct {
	sample bool
	n      int64
	x, y   float64 // means
	c      float64
	odd    bool // a pair was not finite
	dec    bool // a decimal came, so the result is one
}

// pair reads an array of two numbers.
func pair(v bson.Value) (x, y bson.Value, ok bool) {
	a, ok := v.Array()
	if !ok || a.Len() != 2 {
		return x, y, false
	}
	x, _ = a.Index(0)
	y, _ = a.Index(1)
	return x, y, x.IsNumber() && y.IsNumber()
}

func (t *covarianceState) take(_ *mql.Env, v bson.Value) (int, error) {
	a, b, ok := pair(v)
	if !ok {
		return 0, nil
	}
	t.dec = t.dec || a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128
	x, _ := a.AsFloat()
	y, _ := b.AsFloat()
	t.odd = t.odd || !isFinite(a) || !isFinite(b)
	t.n++
	dx := x - t.x
	t.x += dx / float64(t.n)
	t.y += (y - t.y) / float64(t.n)
	t.c += dx * (y - t.y)
	return 0, nil
}

func (t *covarianceState) drop(_ *mql.Env, v bson.Value) bool {
	a, b, ok := pair(v)
	if !ok {
		return true
	}
	if t.odd || t.dec || t.n <= 1 {
		return false
	}
	x, _ := a.AsFloat()
	y, _ := b.AsFloat()
	dy := y - t.y
	t.n--
	t.y -= dy / float64(t.n)
	t.x -= (x - t.x) / float64(t.n)
	t.c -= dy * (x - t.x)
	return true
}

func (t *covarianceState) Merge(*mql.Env, bson.Value) (int, error) {
	return 0, badPartial("$covariancePop")
}

func (t *covarianceState) Partial(b *bson.Builder, name string) { b.Null(name) }

func (t *covarianceState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	n := float64(t.n)
	if t.sample {
		n--
	}
	switch {
	case n <= 0:
		b.Null(name)
	case t.dec:
		b.Value(name, s.Decimal(decimal.FromFloat64(t.c/n)))
	default:
		b.Double(name, t.c/n)
	}
	return nil
}
