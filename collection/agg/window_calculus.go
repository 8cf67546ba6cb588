package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	winDerivative = WindowFunctionDef{Name: "$derivative", parse: parseCalculus, Since: "5.0", Doc: "reference/operator/aggregation/derivative"}
	winIntegral   = WindowFunctionDef{Name: "$integral", parse: parseCalculus, Since: "5.0", Doc: "reference/operator/aggregation/integral"}
)

// calculus is $derivative, the average rate of change over the window, or
// $integral, the area under the curve by trapezoids.
type calculus struct {
	name  string
	input expr.Expr
	unit  *expr.DateUnit
	w     *window
	stage *windowStage
}

func parseCalculus(p *parser, c *windowCall) (windowFunc, error) {
	d, ok := c.arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s expects an object, but got a %s", c.name, c.arg.Type)
	}
	f := &calculus{name: c.name, w: c.window, stage: c.stage}
	var err error
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "input":
			if f.input, err = expr.Parse(p.env, it.Value); err != nil {
				return nil, err
			}
		case "unit":
			text, ok := it.Value.Str()
			if !ok {
				return nil, mongoerr.New(mongoerr.FailedToParse, "%s 'unit' must be a string", c.name)
			}
			u, err := expr.DateUnitOf(p.env, text)
			if err != nil {
				return nil, err
			}
			if u.Millis() == 0 {
				return nil, mongoerr.New(5490704, "unit must be 'week' or smaller")
			}
			f.unit = &u
		default:
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s got unexpected argument: %s", c.name, it.Name)
		}
	}
	switch {
	case f.input == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires an 'input' expression", c.name)
	case len(c.stage.by.Parts) != 1:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires a sortBy with exactly one element", c.name)
	case f.w == nil && c.name == "$derivative":
		return nil, mongoerr.New(mongoerr.FailedToParse, "$derivative requires explicit window bounds")
	case f.w == nil:
		w := wholeWindow
		f.w = &w
	}
	return f, nil
}

func (f *calculus) paths(add func(string)) { f.input.Paths(add) }

func (f *calculus) start(p *partition) windowRun {
	r := &calculusRun{calculus: f, ends: newWindowEnds(f.w, p)}
	r.cursor, r.second = p.cursor(&r.scratch), p.cursor(&r.scratch)
	return r
}

type calculusRun struct {
	*calculus
	ends           *windowEnds
	cursor, second spoolCursor
	// area is the sum of the integral over the documents from (inclusive) to to (exclusive).
	from, to int
	area     expr.Summation
	scratch  expr.Scratch
}

func (r *calculusRun) at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) error {
	from, to, err := r.ends.of(env, i, doc)
	if err != nil {
		return err
	}
	r.scratch.Reset()
	if r.name == "$derivative" {
		return r.derivative(env, b, name, from, to)
	}
	return r.integral(env, b, name, from, to)
}

// point returns the point of document i: x is its sort value, for a date in milliseconds, and y the value of
// the input expression.
func (r *calculusRun) point(env *mql.Env, c *spoolCursor, i int) (x, y bson.Value, err error) {
	doc, _, err := c.get(i)
	if err != nil {
		return x, y, err
	}
	x = fieldName(r.stage.byNames).get(doc)
	if ms, ok := x.DateTime(); ok {
		if r.unit == nil {
			return x, y, mongoerr.New(5624901, "%s where the sortBy is a Date requires a 'unit'", r.name)
		}
		x = r.scratch.Int64(ms)
	} else if r.unit != nil {
		return x, y, mongoerr.New(5624900, "%s with 'unit' expects the sortBy field to be a Date", r.name)
	} else if !x.IsNumber() {
		return x, y, mongoerr.New(5624902, "%s expects the sortBy field to be numeric, found %s", r.name, x.Type)
	}
	if y, err = r.input.Eval(env, doc, &r.scratch); err != nil {
		return x, y, err
	}
	if !y.IsNullish() && !y.IsNumber() {
		return x, y, mongoerr.New(5624903, "%s expects the input to be numeric, found %s", r.name, y.Type)
	}
	return x, r.scratch.Keep(y), nil
}

func (r *calculusRun) derivative(env *mql.Env, b *bson.Builder, name string, from, to int) error {
	if to-from < 2 {
		b.Null(name)
		return nil
	}
	x0, y0, err := r.point(env, &r.cursor, from)
	if err != nil {
		return err
	}
	x0 = r.scratch.Keep(x0)
	x1, y1, err := r.point(env, &r.second, to-1)
	if err != nil {
		return err
	}
	if y0.IsNullish() || y1.IsNullish() {
		b.Null(name)
		return nil
	}
	dx, err := expr.Subtract(&r.scratch.Arena, x1, x0)
	if err != nil {
		return err
	}
	dy, err := expr.Subtract(&r.scratch.Arena, y1, y0)
	if err != nil {
		return err
	}
	if f, _ := dx.AsFloat(); f == 0 {
		b.Null(name)
		return nil
	}
	if dy.Type == bson.TypeDecimal128 || dx.Type == bson.TypeDecimal128 {
		d, _ := decimal.FromValue(dy)
		e, _ := decimal.FromValue(dx)
		if r.unit != nil {
			e = decimal.Quo(e, decimal.FromInt64(r.unit.Millis()))
		}
		b.Value(name, r.scratch.Decimal(decimal.Quo(d, e)))
		return nil
	}
	f, _ := dy.AsFloat()
	g, _ := dx.AsFloat()
	if r.unit != nil {
		g /= float64(r.unit.Millis())
	}
	b.Double(name, f/g)
	return nil
}

func (r *calculusRun) integral(env *mql.Env, b *bson.Builder, name string, from, to int) error {
	if from >= to {
		b.Null(name)
		return nil
	}
	if from != r.from || to < r.to {
		r.from, r.to, r.area = from, from, expr.Summation{}
	}
	for r.to < to {
		i := r.to
		r.to++
		if i == r.from {
			if _, _, err := r.point(env, &r.second, i); err != nil {
				return err
			}
			continue
		}
		r.scratch.Reset()
		x0, y0, err := r.point(env, &r.cursor, i-1)
		if err != nil {
			return err
		}
		x0 = r.scratch.Keep(x0)
		x1, y1, err := r.point(env, &r.second, i)
		if err != nil {
			return err
		}
		if y0.IsNullish() || y1.IsNullish() {
			continue
		}
		v, err := r.trapezoid(x0, y0, x1, y1)
		if err != nil {
			return err
		}
		r.area.Add(v)
		if err := env.Tick(); err != nil {
			return err
		}
	}
	r.scratch.Reset()
	v := r.area.Sum(&r.scratch.Arena)
	if r.unit != nil {
		if d, ok := v.Decimal(); ok {
			v = r.scratch.Decimal(decimal.Quo(d, decimal.FromInt64(r.unit.Millis())))
		} else {
			f, _ := v.AsFloat()
			v = r.scratch.Double(f / float64(r.unit.Millis()))
		}
	}
	b.Value(name, v)
	return nil
}

// trapezoid returns the area between two points: (x1 - x0) * (y0 + y1) / 2.
func (r *calculusRun) trapezoid(x0, y0, x1, y1 bson.Value) (bson.Value, error) {
	a := &r.scratch.Arena
	dx, err := expr.Subtract(a, x1, x0)
	if err != nil {
		return dx, err
	}
	sum, err := expr.Add(a, y0, y1)
	if err != nil {
		return sum, err
	}
	v, err := expr.Multiply(a, dx, sum)
	if err != nil {
		return v, err
	}
	if d, ok := v.Decimal(); ok {
		return a.Decimal(decimal.Quo(d, decimal.FromInt64(2))), nil
	}
	f, _ := v.AsFloat()
	return a.Double(f / 2), nil
}

func (r *calculusRun) close(*mql.Env) { r.scratch.Close() }
