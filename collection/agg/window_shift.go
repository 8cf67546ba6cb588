package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var winShift = WindowFunctionDef{Name: "$shift", parse: parseShift, Since: "5.0", Doc: "reference/operator/aggregation/shift"}

// shift is $shift: it returns the value of output in the document `by` positions after the current one; absent if
// there is none, or no value in it.
type shift struct {
	output expr.Expr
	by     int64
	absent bson.Value
}

func parseShift(p *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$shift does not accept a 'window' field")
	}
	d, ok := c.arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Argument to $shift must be an object")
	}
	if len(c.stage.by.Parts) == 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "'$shift' requires a sortBy")
	}
	f := &shift{absent: bson.Null}
	by := bson.Value{}
	var err error
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "output":
			f.output, err = expr.Parse(p.env, it.Value)
		case "by":
			if f.by, ok = it.Value.AsInt64(); !ok {
				return nil, mongoerr.New(mongoerr.FailedToParse, "'$shift:by' field must be an integer, but found %s", it.Value.Type)
			}
			by = it.Value
		case "default":
			var e expr.Expr
			if e, err = expr.Parse(p.env, it.Value); err != nil {
				return nil, err
			}
			if f.absent, ok = expr.IsConstant(e); !ok {
				return nil, mongoerr.New(mongoerr.FailedToParse, "'$shift:default' expression must yield a constant value")
			}
		default:
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unknown argument in $shift: %s", it.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.output == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$shift requires an 'output' expression.")
	}
	if by.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$shift requires 'by' as an integer value.")
	}
	return f, nil
}

func (f *shift) paths(add func(string)) { f.output.Paths(add) }

func (f *shift) start(p *partition) windowRun {
	r := &shiftRun{shift: f, n: p.docs.len()}
	r.cursor = p.cursor(&r.scratch)
	return r
}

type shiftRun struct {
	*shift
	n       int
	cursor  spoolCursor
	scratch expr.Scratch
}

func (r *shiftRun) at(env *mql.Env, b *bson.Builder, name string, i int, _ bson.Raw) error {
	at := int64(i) + r.by
	if at < 0 || at >= int64(r.n) {
		b.Value(name, r.absent)
		return nil
	}
	d, _, err := r.cursor.get(int(at))
	if err != nil {
		return err
	}
	r.scratch.Reset()
	v, err := r.output.Eval(env, d, &r.scratch)
	if v.IsMissing() {
		v = r.absent
	}
	b.Value(name, v)
	return err
}

func (r *shiftRun) close(*mql.Env) { r.scratch.Close() }
