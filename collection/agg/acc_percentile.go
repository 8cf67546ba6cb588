package agg

import (
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"
)

var (
	accMedian     = AccumulatorDef{Name: "$median", Parse: parsePercentile, Doc: "reference/operator/aggregation/median"}
	accPercentile = AccumulatorDef{Name: "$percentile", Parse: parsePercentile, Doc: "reference/operator/aggregation/percentile"}
)

// percentileFunc is $percentile and $median. It computes the exact discrete
// percentile: the least value for which at least the share p of all values is
// not greater. MongoDB's method "approximate" answers that too for the first
// hundreds of values and may differ from it by a little for many.
type percentileFunc struct {
	name   string
	input  expr.Expr
	p      []float64
	method string
}

func parsePercentile(p *parser, name string, v bson.Value) (Func, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(7436100, "specification must be an object; found %s: %s", name, v.Type)
	}
	f := &percentileFunc{name: name, p: []float64{0.5}}
	var ps, method bson.Value
	var err error
	for it := d.Iter(); it.Next(); {
		switch field := string(it.Name); {
		case field == "input":
			f.input, err = expr.Parse(p.env, it.Value)
		case field == "method":
			method = it.Value
		case field == "p" && name == "$percentile":
			ps = it.Value
		default:
			return nil, mongoerr.New(40415, "BSON field '%s.%s' is an unknown field.", name, field)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case f.input == nil:
		return nil, mongoerr.New(40414, "BSON field '%s.input' is missing but a required field", name)
	case name == "$percentile" && ps.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '$percentile.p' is missing but a required field")
	case method.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '%s.method' is missing but a required field", name)
	case method.Type != bson.TypeString:
		return nil, mongoerr.WrongType(name+".method", method.Type.String(), "string")
	}
	f.method, _ = method.Str()
	switch f.method {
	case "approximate", "discrete", "continuous":
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "Currently only 'approximate', 'discrete' and 'continuous' can be used as percentile 'method'.")
	}
	if !ps.IsMissing() {
		if f.p, err = p.percentiles(ps); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// percentiles reads p: constants between 0 and 1.
func (p *parser) percentiles(v bson.Value) ([]float64, error) {
	e, err := expr.Parse(p.env, v)
	if err != nil {
		return nil, err
	}
	c, ok := expr.IsConstant(e)
	if !ok {
		var s expr.Scratch
		if c, err = e.Eval(p.env, bson.Empty, &s); err != nil {
			return nil, err
		}
	}
	a, ok := c.Array()
	if !ok || a.IsEmpty() {
		return nil, mongoerr.New(7750301, "The $percentile 'p' field must be an array of constant values, but found value: %s", c.Type)
	}
	var out []float64
	for it := a.Iter(); it.Next(); {
		x, ok := it.Value.AsFloat()
		if !ok {
			return nil, mongoerr.New(7750302, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", it.Value.Type)
		}
		if !(x >= 0 && x <= 1) {
			return nil, mongoerr.New(7750303, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %v", x)
		}
		out = append(out, x)
	}
	return out, nil
}

func (f *percentileFunc) Start(*mql.Env, bson.Value, *expr.Scratch) (State, error) {
	return &unaryState{&percentileState{f: f}, f.input}, nil
}

func (f *percentileFunc) Paths(add func(string)) { f.input.Paths(add) }

func (f *percentileFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(f.name)
	f.input.Append(b, "input")
	if f.name == "$percentile" {
		b.BeginArray("p")
		for _, x := range f.p {
			b.Double("", x)
		}
		b.End()
	}
	b.String("method", f.method)
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

func (t *percentileState) drop(_ *mql.Env, v bson.Value) error {
	x, ok := v.AsFloat()
	if !ok || math.IsNaN(x) {
		return nil
	}
	t.sort()
	if at, ok := slices.BinarySearch(t.values, x); ok {
		t.values = slices.Delete(t.values, at, at+1)
	}
	return nil
}

func (t *percentileState) sort() {
	if !t.sorted {
		slices.Sort(t.values)
		t.sorted = true
	}
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
	if t.f.name == "$median" {
		t.append(b, name, 0.5)
		return nil
	}
	b.BeginArray(name)
	for _, p := range t.f.p {
		t.append(b, "", p)
	}
	b.End()
	return nil
}

func (t *percentileState) append(b *bson.Builder, name string, p float64) {
	n := len(t.values)
	if n == 0 {
		b.Null(name)
		return
	}
	if t.f.method == "continuous" {
		at := p * float64(n-1)
		lo, hi := int(math.Floor(at)), int(math.Ceil(at))
		if lo == hi || t.values[lo] == t.values[hi] {
			b.Double(name, t.values[lo])
			return
		}
		b.Double(name, t.values[lo]*(float64(hi)-at)+t.values[hi]*(at-float64(lo)))
		return
	}
	at := min(max(int(math.Ceil(p*float64(n)))-1, 0), n-1)
	b.Double(name, t.values[at])
}
