package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	winCovariancePop  = WindowFunctionDef{Name: "$covariancePop", parse: parseCovariance, Since: "5.0", Doc: "reference/operator/aggregation/covariancePop"}
	winCovarianceSamp = WindowFunctionDef{Name: "$covarianceSamp", parse: parseCovariance, Since: "5.0", Doc: "reference/operator/aggregation/covarianceSamp"}
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

// covarianceState is the state of $covariancePop and $covarianceSamp: it computes the covariance of pairs of
// numbers incrementally. It is an accumulator of windows only and has no partial.
type covarianceState struct {
	sample bool
	n      int64          // finite pairs
	x, y   expr.Summation // sums of the finite pairs
	c      expr.Summation // sum of the products of the differences from the means
	odd    oddPairs       // counts of the other pairs
	arena  bson.Arena
}

// oddPairs counts the pairs in a window that have a number which is not finite, by kind: NaN, plus and minus
// infinity, decimals.
type oddPairs struct{ all, nan, plus, minus, decimal int64 }

// count adds a pair; with by -1 it removes the pair.
func (o *oddPairs) count(x, y bson.Value, by int64) {
	o.all += by
	if x.Type == bson.TypeDecimal128 || y.Type == bson.TypeDecimal128 {
		o.decimal += by
	}
	for _, v := range [...]bson.Value{x, y} {
		switch f, _ := v.AsFloat(); {
		case isFiniteNumber(v):
		case f != f:
			o.nan += by
		case f > 0:
			o.plus += by
		default:
			o.minus += by
		}
	}
}

// sum returns the sum of the numbers that are not finite: NaN or an infinity.
func (o *oddPairs) sum(a *bson.Arena) bson.Value {
	f := math.NaN()
	switch {
	case o.nan > 0 || o.plus > 0 && o.minus > 0:
	case o.plus > 0:
		f = math.Inf(1)
	default:
		f = math.Inf(-1)
	}
	if o.decimal > 0 {
		return a.Decimal(decimal.FromFloat64(f))
	}
	return a.Double(f)
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

// isFiniteNumber is isFinite, but exact for decimals too, most of which a double cannot represent.
func isFiniteNumber(v bson.Value) bool {
	if d, ok := v.Decimal(); ok {
		return !d.IsNaN() && !d.IsInf()
	}
	return isFinite(v)
}

// quotient returns v / n as $divide by a double does: a decimal is divided by a decimal of 15 digits, so that a
// zero of two digits after the point becomes 0E+12. Observed: mongod 8.2.
func quotient(a *bson.Arena, v bson.Value, n int64) bson.Value {
	if d, ok := v.Decimal(); ok {
		return a.Decimal(decimal.Quo(d, decimal.FromFloat64(float64(n))))
	}
	f, _ := v.AsFloat()
	return a.Double(f / float64(n))
}

// distance returns v minus the mean of n numbers, whose sum is sum; 0 if n is 0.
func (t *covarianceState) distance(v bson.Value, sum *expr.Summation, n int64) (bson.Value, error) {
	if n == 0 {
		return zeroValue, nil
	}
	return expr.Subtract(&t.arena, v, quotient(&t.arena, sum.Sum(&t.arena), n))
}

func (t *covarianceState) take(_ *mql.Env, v bson.Value) (int, error) {
	x, y, ok := pair(v)
	if !ok {
		return 0, nil
	}
	t.arena.Reset()
	if !isFiniteNumber(x) || !isFiniteNumber(y) {
		t.odd.count(x, y, 1)
		return 0, nil
	}
	dx, err := t.distance(x, &t.x, t.n)
	if err != nil {
		return 0, err
	}
	t.n++
	t.x.Add(x)
	t.y.Add(y)
	dy, err := t.distance(y, &t.y, t.n)
	if err != nil {
		return 0, err
	}
	p, err := expr.Multiply(&t.arena, dx, dy)
	t.c.Add(p)
	return 0, err
}

// drop removes a pair that leaves the window. It returns false for the last finite pair, or if subtraction fails, so
// that the window is computed anew.
func (t *covarianceState) drop(_ *mql.Env, v bson.Value) bool {
	x, y, ok := pair(v)
	if !ok {
		return true
	}
	if !isFiniteNumber(x) || !isFiniteNumber(y) {
		t.odd.count(x, y, -1)
		return true
	}
	if t.n <= 1 {
		return false
	}
	t.arena.Reset()
	dy, err := t.distance(y, &t.y, t.n)
	if err != nil {
		return false
	}
	t.x.Remove(x)
	t.y.Remove(y)
	t.n--
	dx, err := t.distance(x, &t.x, t.n)
	if err != nil {
		return false
	}
	p, err := expr.Multiply(&t.arena, dx, dy)
	return err == nil && t.c.Remove(p)
}

func (t *covarianceState) Merge(*mql.Env, bson.Value) (int, error) {
	return 0, badPartial("$covariancePop")
}

func (t *covarianceState) Partial(b *bson.Builder, name string) { b.Null(name) }

func (t *covarianceState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	n := t.n
	if t.sample {
		n--
	}
	switch {
	case n <= 0:
		b.Null(name)
	case t.n == 1:
		b.Double(name, 0)
	case t.odd.all > 0:
		b.Value(name, t.odd.sum(&s.Arena))
	default:
		b.Value(name, quotient(&s.Arena, t.c.Sum(&s.Arena), n))
	}
	return nil
}
