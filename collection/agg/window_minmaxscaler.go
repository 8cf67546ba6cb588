package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var winMinMaxScaler = WindowFunctionDef{Name: "$minMaxScaler", parse: parseMinMaxScaler, Since: "8.2", Doc: "reference/operator/aggregation/minMaxScaler"}

// minMaxScaler is $minMaxScaler: it scales a number linearly from the range between the least and the greatest
// number of its window to the range from min to max.
type minMaxScaler struct {
	input    expr.Expr
	min, max bson.Value
	window   *window
}

// parseMinMaxScaler parses the argument of $minMaxScaler: a numeric expression, or {input: …, min: …, max: …}.
//
// Errors: FailedToParse; errors of expr.Parse.
func parseMinMaxScaler(p *parser, c *windowCall) (windowFunc, error) {
	var a bson.Arena
	f := &minMaxScaler{min: a.Int32(0), max: a.Int32(1), window: c.window}
	if f.window == nil {
		f.window = &wholeWindow
	}
	d, ok := c.arg.Doc()
	if first, some := d.First(); !ok || some && len(first.Name) > 0 && first.Name[0] == '$' {
		var err error
		f.input, err = expr.Parse(p.env, c.arg)
		return f, err
	}
	for it := d.Iter(); it.Next(); {
		e, err := expr.Parse(p.env, it.Value)
		if err != nil {
			return nil, err
		}
		v, constant := expr.IsConstant(e)
		switch name := string(it.Name); {
		case name == "input":
			f.input = e
		case name != "min" && name != "max":
			return nil, mongoerr.New(mongoerr.FailedToParse, "$minMaxScaler: '%s' is none of input, min and max", name)
		case !constant || !v.IsNumber():
			return nil, mongoerr.New(mongoerr.FailedToParse, "$minMaxScaler: %s has to be a constant number", name)
		case name == "min":
			f.min = v.Clone()
		default:
			f.max = v.Clone()
		}
	}
	switch {
	case f.input == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$minMaxScaler: there is no input")
	case bson.Compare(f.min, f.max, nil) >= 0:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$minMaxScaler: min has to be less than max")
	}
	return f, nil
}

func (f *minMaxScaler) paths(add func(string)) { f.input.Paths(add) }

func (f *minMaxScaler) start(p *partition) windowRun {
	r := &minMaxScalerRun{minMaxScaler: f, ends: newWindowEnds(f.window, p), p: p,
		least: slidingExtreme{sign: -1}, greatest: slidingExtreme{sign: 1}}
	r.enter = p.cursor(&r.scratch)
	return r
}

// minMaxScalerRun moves the window over a partition.
type minMaxScalerRun struct {
	*minMaxScaler
	ends            *windowEnds
	p               *partition
	enter           spoolCursor
	to              int // index of the next document to enter
	least, greatest slidingExtreme
	scratch         expr.Scratch
}

func (r *minMaxScalerRun) at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) error {
	from, to, err := r.ends.of(env, i, doc)
	if err != nil {
		return err
	}
	for r.to = max(r.to, from); r.to < to; r.to++ {
		d, _, err := r.enter.get(r.to)
		if err != nil {
			return err
		}
		v, err := r.number(env, d)
		if err != nil {
			return err
		}
		r.least.push(env, r.to, v)
		r.greatest.push(env, r.to, v)
		if err := env.Tick(); err != nil {
			return err
		}
	}
	r.least.leave(from)
	r.greatest.leave(from)
	r.p.metas.giveStored(r.p.meta, &r.scratch)
	x, err := r.number(env, doc)
	if err != nil {
		return err
	}
	if len(r.least.queue) == 0 {
		b.Null(name)
		return nil
	}
	b.Value(name, scaled(&r.scratch.Arena, x, r.least.queue[0].v, r.greatest.queue[0].v, r.min, r.max))
	return nil
}

// number evaluates the input.
//
// Errors: TypeMismatch.
func (r *minMaxScalerRun) number(env *mql.Env, doc bson.Raw) (bson.Value, error) {
	r.scratch.Reset()
	v, err := r.input.Eval(env, doc, &r.scratch)
	if err == nil && !v.IsNumber() {
		err = mongoerr.New(mongoerr.TypeMismatch, "$minMaxScaler: the input has to be a number, and is of type %s", v.Type)
	}
	return v, err
}

func (r *minMaxScalerRun) close(*mql.Env) { r.scratch.Close() }

// scaled maps x linearly from [least, greatest] to [lo, hi]. If all numbers are equal, the manual's formula has
// no result, and scaled returns lo. The result is a decimal if one of the arguments is a decimal, otherwise a
// double.
func scaled(a *bson.Arena, x, least, greatest, lo, hi bson.Value) bson.Value {
	all := [5]bson.Value{x, least, greatest, lo, hi}
	var d [5]decimal.Decimal
	var f [5]float64
	dec := false
	for i, v := range all {
		d[i], _ = decimal.FromValue(v)
		f[i], _ = v.AsFloat()
		dec = dec || v.Type == bson.TypeDecimal128
	}
	same := bson.Compare(least, greatest, nil) == 0
	switch {
	case same && dec:
		return a.Decimal(d[3])
	case same:
		return a.Double(f[3])
	case dec:
		share := decimal.Quo(decimal.Sub(d[0], d[1]), decimal.Sub(d[2], d[1]))
		return a.Decimal(decimal.Add(decimal.Mul(share, decimal.Sub(d[4], d[3])), d[3]))
	}
	return a.Double((f[0]-f[1])/(f[2]-f[1])*(f[4]-f[3]) + f[3])
}
