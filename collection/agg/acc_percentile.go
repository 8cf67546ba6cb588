package agg

import (
	"cmp"
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	accMedian     = AccumulatorDef{Name: "$median", Parse: parsePercentile, Since: "7.0", Doc: "reference/operator/aggregation/median"}
	accPercentile = AccumulatorDef{Name: "$percentile", Parse: parsePercentile, Since: "7.0", Doc: "reference/operator/aggregation/percentile"}
)

// percentileFunc is a parsed $percentile or $median. It computes the exact discrete percentile: the least number such
// that at least the share p of all numbers, without NaN, is not greater. MongoDB's method "approximate" returns the
// same for up to some hundreds of values, and may differ slightly for more.
type percentileFunc struct {
	name  string
	input expr.Expr
	p     []float64
	one   bool
}

func parsePercentile(p *parser, name string, v bson.Value) (Func, error) {
	q, err := expr.ParseQuantile(p.env, name, v)
	if err != nil {
		return nil, err
	}
	input, err := expr.Parse(p.env, q.Input)
	if err != nil {
		return nil, err
	}
	return &percentileFunc{name, input, q.P, q.One}, nil
}

func (f *percentileFunc) Start(*mql.Env, bson.Value, *expr.Scratch) (State, error) {
	return &unaryState{&percentileState{f: f}, f.input}, nil
}

func (f *percentileFunc) Paths(add func(string)) { f.input.Paths(add) }

func (f *percentileFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(f.name)
	f.input.Append(b, "input")
	if !f.one {
		b.BeginArray("p")
		for _, x := range f.p {
			b.Double("", x)
		}
		b.End()
	}
	b.String("method", "approximate")
	b.End()
	b.End()
}

// percentileState collects the numbers.
type percentileState struct {
	f      *percentileFunc
	values []float64
	sorted bool
}

func (t *percentileState) take(_ *mql.Env, v bson.Value) (int, error) {
	x, ok := v.AsFloat()
	if !ok || math.IsNaN(x) {
		return 0, nil
	}
	t.values, t.sorted = append(t.values, x), false
	return 8, checkHeld(t.f.name, 8*len(t.values))
}

func (t *percentileState) drop(_ *mql.Env, v bson.Value) bool {
	x, ok := v.AsFloat()
	if !ok || math.IsNaN(x) {
		return true
	}
	t.sort()
	if at, ok := slices.BinarySearchFunc(t.values, x, compareSigned); ok {
		t.values = slices.Delete(t.values, at, at+1)
	}
	return true
}

func (t *percentileState) sort() {
	if !t.sorted {
		slices.Sort(t.values)
		zeros, _ := slices.BinarySearch(t.values, 0)
		above, _ := slices.BinarySearch(t.values, math.SmallestNonzeroFloat64)
		slices.SortFunc(t.values[zeros:above], compareSigned)
		t.sorted = true
	}
}

// compareSigned orders numbers, with -0 before 0.
func compareSigned(a, b float64) int {
	if c := cmp.Compare(a, b); c != 0 || a != 0 {
		return c
	}
	return cmp.Compare(math.Copysign(1, a), math.Copysign(1, b))
}

func (t *percentileState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return takeAll(env, t, partial)
}

func (t *percentileState) Partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, x := range t.values {
		b.Double("", x)
	}
	b.End()
}

func (t *percentileState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.sort()
	one := func(name string, p float64) {
		if len(t.values) == 0 {
			b.Null(name)
		} else {
			b.Double(name, expr.PercentileOf(t.values, p))
		}
	}
	if t.f.one {
		one(name, 0.5)
		return nil
	}
	b.BeginArray(name)
	for _, p := range t.f.p {
		one("", p)
	}
	b.End()
	return nil
}
