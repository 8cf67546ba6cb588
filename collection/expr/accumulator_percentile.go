package expr

import (
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// quantile is $median and $percentile as expressions.
type quantile struct {
	name  string
	input Expr
	p     []float64
}

// Quantile is the parsed specification of $median and $percentile.
type Quantile struct {
	Input bson.Value // unparsed expression
	P     []float64  // in [0, 1]
	One   bool       // $median: one value instead of an array
}

// ParseQuantile parses {input:, method:, p:} of $percentile or {input:, method:} of $median. p must be constant
// (variables of env.Vars are), method the literal "approximate".
//
// Errors: 7429703 for a value that is no object; TypeMismatch; IDLFailedToParse for a missing field; IDLUnknownField;
// BadValue for another method; 7750301, 7750302, 7750303 for p; errors of
// its expression.
func ParseQuantile(env *mql.Env, name string, v bson.Value) (q Quantile, err error) {
	d, ok := v.Doc()
	if !ok {
		return q, mongoerr.New(7429703, "specification must be an object; found %s: %s", name, v.Type)
	}
	var method, p bson.Value
	q.One = name == "$median"
	for it := d.Iter(); it.Next(); {
		switch n := string(it.Name); {
		case n == "input":
			q.Input = it.Value
		case n == "method":
			method = it.Value
		case n == "p" && !q.One:
			p = it.Value
		default:
			return q, mongoerr.UnknownField(name + "." + n)
		}
	}
	switch {
	case q.Input.IsMissing():
		return q, mongoerr.MissingField(name + ".input")
	case p.IsMissing() && !q.One:
		return q, mongoerr.MissingField(name + ".p")
	case method.IsMissing():
		return q, mongoerr.MissingField(name + ".method")
	}
	if method.Type != bson.TypeString {
		return q, mongoerr.WrongType(name+".method", method.Type.String(), "string")
	}
	if m, _ := method.Str(); m != "approximate" {
		return q, mongoerr.New(mongoerr.BadValue, "Currently only 'approximate' can be used as percentile 'method'")
	}
	if q.One {
		q.P = []float64{0.5}
		return q, nil
	}
	pe, err := Parse(env, p)
	if err != nil {
		return q, err
	}
	var s Scratch
	defer s.Close()
	if p, err = pe.Eval(env, bson.Empty, &s); err != nil {
		return q, err
	}
	a, ok := p.Array()
	if !ok || a.IsEmpty() {
		return q, mongoerr.New(7750301, "The $percentile 'p' field must be an array of constant values, but found value: %s", show(p))
	}
	for x := range a.Values() {
		f, ok := x.AsFloat()
		if !ok {
			return q, mongoerr.New(7750302, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", show(x))
		}
		if !(f >= 0 && f <= 1) {
			return q, mongoerr.New(7750303, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", show(x))
		}
		q.P = append(q.P, f)
	}
	return q, nil
}

func parseQuantile(p *parser, op *Operator, v bson.Value) (Expr, error) {
	q, err := p.quantile(p.env, op.Name, v)
	if err != nil {
		return nil, err
	}
	e := &quantile{name: op.Name, p: q.P}
	if e.input, err = p.parse(q.Input); err != nil {
		return nil, err
	}
	return p.fold(e)
}

func (q *quantile) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := q.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	n := 1
	a, isArray := v.Array()
	if isArray {
		n = a.Len()
	}
	if err := s.take(env, 8*n); err != nil {
		return v, err
	}
	defer func() { s.outside -= 8 * n }()
	fs := make([]float64, 0, n)
	add := func(v bson.Value) {
		if f, ok := v.AsFloat(); ok {
			fs = append(fs, f)
		}
	}
	if isArray {
		for it := a.Iter(); it.Next(); {
			add(it.Value)
		}
	} else {
		add(v)
	}
	slices.Sort(fs)
	one := func(p float64) bson.Value {
		if len(fs) == 0 {
			return bson.Null
		}
		return s.Double(PercentileOf(fs, p))
	}
	if q.name == "$median" {
		return one(0.5), nil
	}
	b := s.newArray()
	for _, p := range q.p {
		b.Value("", one(p))
	}
	return s.endArray(env, b)
}

// PercentileOf returns the discrete percentile of a non-empty list of sorted numbers: the least number
// such that at least the share p of them is not greater.
func PercentileOf(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func (q *quantile) children(add func(Expr)) { add(q.input) }

func (q *quantile) Paths(add func(string)) { pathsOf(q, add) }

func (q *quantile) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(q.name)
	q.input.Append(b, "input")
	if q.name == "$percentile" {
		b.BeginArray("p")
		for _, p := range q.p {
			b.Double("", p)
		}
		b.End()
	}
	b.String("method", "approximate")
	b.End()
	b.End()
}
