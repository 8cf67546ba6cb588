package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var winExpMovingAvg = WindowFunctionDef{Name: "$expMovingAvg", parse: parseExpMovingAvg, Since: "5.0", Doc: "reference/operator/aggregation/expMovingAvg"}

// movingAverage is $expMovingAvg: it weighs the current number with alpha and the average so far with 1 - alpha. The
// first number is the first average; other values are ignored.
type movingAverage struct {
	input expr.Expr
	alpha bson.Value
}

func parseExpMovingAvg(p *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg does not accept a 'window' field")
	}
	d, ok := c.arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg must have exactly one argument that is an object")
	}
	if len(c.stage.by.Parts) == 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg requires an explicit 'sortBy'")
	}
	f := &movingAverage{}
	var n, alpha bson.Value
	var err error
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "input":
			if f.input, err = expr.Parse(p.env, it.Value); err != nil {
				return nil, err
			}
		case "N":
			n = it.Value
		case "alpha":
			alpha = it.Value
		default:
			return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg got unrecognized field: %s", it.Name)
		}
	}
	switch {
	case f.input == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg sub object must have an 'input' field")
	case n.IsMissing() == alpha.IsMissing():
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg sub object must have either an 'N' field or an 'alpha' field, and not both")
	case !n.IsMissing():
		k, ok := n.AsInt64()
		if !ok || !n.IsNumber() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "'N' field must be an integer, but found type %s", n.Type)
		}
		if k <= 0 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "'N' must be greater than zero. Got %d", k)
		}
		var a bson.Arena
		f.alpha = a.Decimal(decimal.Quo(decimal.FromInt64(2), decimal.Add(decimal.FromInt64(k), decimal.FromInt64(1))))
	default:
		x, ok := alpha.AsFloat()
		if !ok {
			return nil, mongoerr.New(mongoerr.FailedToParse, "'alpha' must be a number")
		}
		if !(x > 0 && x < 1) {
			return nil, mongoerr.New(mongoerr.FailedToParse, "'alpha' must be between 0 and 1 (exclusive), found alpha: %v", x)
		}
		f.alpha = alpha.Clone()
	}
	return f, nil
}

func (f *movingAverage) paths(add func(string)) { f.input.Paths(add) }
func (f *movingAverage) start(p *partition) windowRun {
	return &movingAverageRun{movingAverage: f, p: p}
}

type movingAverageRun struct {
	*movingAverage
	p       *partition
	some    bool
	dec     bool
	f       float64
	d       decimal.Decimal
	scratch expr.Scratch
}

func (r *movingAverageRun) at(env *mql.Env, b *bson.Builder, name string, _ int, doc bson.Raw) error {
	r.p.setCurrent(&r.scratch)
	v, err := r.input.Eval(env, doc, &r.scratch)
	if err != nil {
		return err
	}
	if v.IsNumber() {
		r.take(v)
	}
	switch {
	case !r.some:
		b.Null(name)
	case r.dec:
		b.Value(name, r.scratch.Decimal(r.d))
	default:
		b.Double(name, r.f)
	}
	return nil
}

func (r *movingAverageRun) take(v bson.Value) {
	alpha, _ := r.alpha.AsFloat()
	x, _ := v.AsFloat()
	if v.Type == bson.TypeDecimal128 && !r.dec {
		r.dec = true
		r.d = decimal.FromFloat64(r.f)
	}
	if r.dec {
		a, _ := decimal.FromValue(r.alpha)
		d, _ := decimal.FromValue(v)
		if r.some {
			d = decimal.Add(decimal.Mul(a, d), decimal.Mul(decimal.Sub(decimal.FromInt64(1), a), r.d))
		}
		r.d = d
	}
	if r.some {
		x = x*alpha + r.f*(1-alpha)
	}
	r.f, r.some = x, true
}

func (r *movingAverageRun) close(*mql.Env) { r.scratch.Close() }
