package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	winLinearFill = WindowFunctionDef{Name: "$linearFill", parse: parseLinearFill, Since: "5.3", Doc: "reference/operator/aggregation/linearFill"}
	winLocf       = WindowFunctionDef{Name: "$locf", parse: parseLocf, Since: "5.2", Doc: "reference/operator/aggregation/locf"}
)

// carried is $locf: it returns the last value up to the current document that is neither null nor missing; null
// if there is none.
type carried struct{ e expr.Expr }

func parseLocf(p *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "'window' field is not allowed in $locf")
	}
	e, err := expr.Parse(p.env, c.arg)
	return &carried{e}, err
}

func (f *carried) paths(add func(string))       { f.e.Paths(add) }
func (f *carried) start(p *partition) windowRun { return &carriedRun{carried: f, p: p} }

type carriedRun struct {
	*carried
	p       *partition
	last    bson.Value
	scratch expr.Scratch
}

func (r *carriedRun) at(env *mql.Env, b *bson.Builder, name string, _ int, doc bson.Raw) error {
	r.p.setCurrent(&r.scratch)
	v, err := r.e.Eval(env, doc, &r.scratch)
	if err != nil {
		return err
	}
	if !v.IsNullish() {
		r.last, _ = copyInto(r.last, v)
	}
	appendOrNull(b, name, r.last)
	return nil
}

func (r *carriedRun) close(*mql.Env) { r.scratch.Close() }

// linearFill is $linearFill: it replaces null and missing values between two others by linear interpolation over the
// sort value of the partition; elsewhere they become null.
type linearFill struct {
	e     expr.Expr
	stage *windowStage
}

func parseLinearFill(p *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "'window' field is not allowed in $linearFill")
	}
	if len(c.stage.by.Parts) != 1 {
		return nil, mongoerr.New(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	e, err := expr.Parse(p.env, c.arg)
	return &linearFill{e, c.stage}, err
}

func (f *linearFill) paths(add func(string)) { f.e.Paths(add) }
func (f *linearFill) start(p *partition) windowRun {
	r := &linearFillRun{linearFill: f, p: p, right: -1}
	r.cursor = p.cursor(&r.seek)
	return r
}

// linearFillRun holds the positions of two documents with a value, neither null nor missing: of the last one up to the
// current document, and of the next one.
type linearFillRun struct {
	*linearFill
	p             *partition
	cursor        spoolCursor
	right         int // index of a document; negative = none
	some          bool
	before        bson.Value // sort value of the document before
	lx, ly        bson.Value
	rx, ry        bson.Value
	scratch, seek expr.Scratch
}

func (r *linearFillRun) at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) error {
	r.p.setCurrent(&r.scratch)
	x, y, err := r.point(env, doc, &r.scratch)
	if err != nil {
		return err
	}
	if i > 0 && bson.Equal(x, r.before, nil) {
		return mongoerr.New(6050106, "There can be no repeated values in the sort field")
	}
	r.before, _ = copyInto(r.before, x)
	if !y.IsNullish() {
		r.lx, _ = copyInto(r.lx, x)
		r.ly, _ = copyInto(r.ly, y)
		r.some = true
		b.Value(name, y)
		return nil
	}
	if r.right <= i {
		if err := r.find(env, i+1); err != nil {
			return err
		}
	}
	if !r.some || r.right == r.p.docs.len() {
		b.Null(name)
		return nil
	}
	v, err := interpolate(&r.scratch, r.lx, r.ly, r.rx, r.ry, x)
	b.Value(name, v)
	return err
}

// find moves right to the next document, from index from on, that has a value, or to the end.
func (r *linearFillRun) find(env *mql.Env, from int) error {
	for r.right = from; r.right < r.p.docs.len(); r.right++ {
		doc, _, err := r.cursor.get(r.right)
		if err != nil {
			return err
		}
		r.seek.Reset()
		x, y, err := r.point(env, doc, &r.seek)
		if err != nil {
			return err
		}
		if !y.IsNullish() {
			r.rx, _ = copyInto(r.rx, x)
			r.ry, _ = copyInto(r.ry, y)
			return nil
		}
	}
	return nil
}

// point returns the sort value x and the value y of a document.
func (r *linearFillRun) point(env *mql.Env, doc bson.Raw, s *expr.Scratch) (x, y bson.Value, err error) {
	x = fieldName(r.stage.byNames).get(doc)
	if !x.IsNumber() && x.Type != bson.TypeDateTime {
		return x, y, mongoerr.New(6050102, "$linearFill can only be used with a sort field that is a number or a date, found %s", x.Type)
	}
	if y, err = r.e.Eval(env, doc, s); err != nil {
		return x, y, err
	}
	if !y.IsNullish() && !y.IsNumber() {
		return x, y, mongoerr.New(6050104, "Value to be filled must be numeric or nullish, found %s", y.Type)
	}
	return x, y, nil
}

// interpolate returns the value at x of the line through two points.
func interpolate(s *expr.Scratch, lx, ly, rx, ry, x bson.Value) (bson.Value, error) {
	num := func(v bson.Value) bson.Value {
		if ms, ok := v.DateTime(); ok {
			return s.Int64(ms)
		}
		return v
	}
	lx, rx, x = num(lx), num(rx), num(x)
	if lx.Type == bson.TypeDecimal128 || rx.Type == bson.TypeDecimal128 || ly.Type == bson.TypeDecimal128 || ry.Type == bson.TypeDecimal128 || x.Type == bson.TypeDecimal128 {
		dec := func(v bson.Value) decimal.Decimal { d, _ := decimal.FromValue(v); return d }
		share := decimal.Quo(decimal.Sub(dec(ry), dec(ly)), decimal.Sub(dec(rx), dec(lx)))
		return s.Decimal(decimal.Add(dec(ly), decimal.Mul(share, decimal.Sub(dec(x), dec(lx))))), nil
	}
	f := func(v bson.Value) float64 { x, _ := v.AsFloat(); return x }
	return s.Double(f(ly) + (f(x)-f(lx))*((f(ry)-f(ly))/(f(rx)-f(lx)))), nil
}

func (r *linearFillRun) close(*mql.Env) {
	r.scratch.Close()
	r.seek.Close()
}
