package agg

import (
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageBucket = StageDef{Name: "$bucket", Parse: parseBucket, ShapesPlan: true, Doc: "reference/operator/aggregation/bucket"}

// parseBucket desugars $bucket into a $group by the lower boundary of a value's bucket, and a $sort.
func parseBucket(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 40201, "Argument to $bucket stage must be an object, but found type: %s", arg.Type)
	if err != nil {
		return nil, err
	}
	e := &bucketOf{}
	var out []output
	some := false
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "groupBy":
			if e.by, err = p.groupedBy(v); err != nil {
				return nil, err
			}
		case "boundaries":
			if e.bounds, err = p.boundaries(v); err != nil {
				return nil, err
			}
			some = true
		case "default":
			if e.other, err = p.defaultBucket(v); err != nil {
				return nil, err
			}
			e.hasOther = true
		case "output":
			o, ok := v.Doc()
			if !ok {
				return nil, mongoerr.New(40196, "The $bucket 'output' field must be an object, but found type: %s", v.Type)
			}
			out = []output{}
			for it := o.Iter(); it.Next(); {
				if string(it.Name) == "_id" {
					return nil, mongoerr.New(15948, "a group's _id may only be specified once")
				}
				acc, err := p.accumulated(string(it.Name), it.Value)
				if err != nil {
					return nil, err
				}
				out = append(out, acc)
			}
		default:
			return nil, mongoerr.New(40197, "Unrecognized option to $bucket: %s.", it.Name)
		}
	}
	if e.by == nil || !some {
		return nil, mongoerr.New(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.")
	}
	if e.hasOther {
		order := p.env.Order()
		if bson.Compare(e.other, e.bounds[0], order) >= 0 && bson.Compare(e.other, e.bounds[len(e.bounds)-1], order) < 0 {
			return nil, mongoerr.New(40199, "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.")
		}
	}
	if out == nil {
		if out, err = p.countOutput(); err != nil {
			return nil, err
		}
	}
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	sorts, err := parseSort(p, "$sort", b.Doc().Value())
	if err != nil {
		return nil, err
	}
	return append([]Stage{&groupStage{id: e, out: out}}, sorts...), nil
}

// groupedBy reads groupBy.
// Errors: 40202; errors of the expression.
func (p *parser) groupedBy(v bson.Value) (expr.Expr, error) {
	text, _ := v.Str()
	expression := v.Type == bson.TypeDocument || v.Type == bson.TypeString && text != "" && text[0] == '$'
	if sub, ok := v.Doc(); ok {
		f, some := sub.First()
		expression = some && len(f.Name) > 0 && f.Name[0] == '$'
	}
	if !expression {
		return nil, mongoerr.New(40202, "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found: %s", v.Type)
	}
	return expr.Parse(p.env, v)
}

// defaultBucket parses the field default of $bucket, the _id of the group of values that lie in no bucket.
// Errors: 40195; errors of the expression.
func (p *parser) defaultBucket(v bson.Value) (bson.Value, error) {
	parsed, err := expr.Parse(p.env, v)
	if err != nil {
		return bson.Value{}, err
	}
	c, ok := expr.IsConstant(parsed)
	if !ok {
		return bson.Value{}, mongoerr.New(40195, "The $bucket 'default' field must be a constant expression, but found: %s", v.Type)
	}
	if text, ok := c.Code(); ok {
		var a bson.Arena
		return a.String(text), nil
	}
	return stored(c), nil
}

// stored returns a constant as MongoDB passes it to accumulators: MinKey and MaxKey are wrapped in a document.
// Observed: mongod 8.2.
func stored(v bson.Value) bson.Value {
	if v.Type != bson.TypeMinKey && v.Type != bson.TypeMaxKey {
		return v
	}
	b := bson.NewBuilder(nil)
	b.Value("", v)
	return b.Doc().Value()
}

// countOutput returns the default output of $bucket and $bucketAuto.
func (p *parser) countOutput() ([]output, error) {
	f, err := parseCountAccumulator(p, "$count", bson.EmptyDoc)
	return []output{{name: "count", fn: f}}, err
}

// boundaries parses the field boundaries of $bucket: at least two constants of comparable types, strictly ascending.
func (p *parser) boundaries(v bson.Value) ([]bson.Value, error) {
	a, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(40200, "The $bucket 'boundaries' field must be an array, but found type: %s", v.Type)
	}
	var out []bson.Value
	for it := a.Iter(); it.Next(); {
		e, err := expr.Parse(p.env, it.Value)
		if err != nil {
			return nil, err
		}
		c, ok := expr.IsConstant(e)
		if !ok {
			return nil, mongoerr.New(40191, "The $bucket 'boundaries' field must be an array of constant values")
		}
		out = append(out, c)
	}
	if len(out) < 2 {
		return nil, mongoerr.New(40192, "The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).", len(out))
	}
	for i := 1; i < len(out); i++ {
		if out[i].Type.Class() != out[i-1].Type.Class() {
			return nil, mongoerr.New(40193, "All values in the the 'boundaries' option to $bucket must have the same type.")
		}
		if bson.Compare(out[i-1], out[i], p.env.Order()) >= 0 {
			return nil, mongoerr.New(40194, "The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in ascending order", i-1, i)
		}
	}
	return out, nil
}

// bucketOf is the expression by which $bucket groups: it returns the lower boundary of the bucket of a value, or the
// default for a value in no bucket.
type bucketOf struct {
	by       expr.Expr
	bounds   []bson.Value
	other    bson.Value
	hasOther bool
}

func (e *bucketOf) Eval(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bson.Value, error) {
	v, err := e.by.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	order := env.Order()
	at := sort.Search(len(e.bounds), func(i int) bool { return bson.Compare(v, e.bounds[i], order) < 0 })
	switch {
	case at > 0 && at < len(e.bounds):
		return e.bounds[at-1], nil
	case e.hasOther:
		return e.other, nil
	}
	return v, mongoerr.New(40066, "$switch could not find a matching branch for an input, and no default was specified.")
}

func (e *bucketOf) Paths(add func(string)) { e.by.Paths(add) }

// Append appends the equivalent $switch.
func (e *bucketOf) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$switch")
	b.BeginArray("branches")
	for i, v := range e.bounds[:len(e.bounds)-1] {
		b.BeginDoc("")
		b.BeginDoc("case")
		b.BeginArray("$and")
		for j, op := range [...]string{"$gte", "$lt"} {
			b.BeginDoc("")
			b.BeginArray(op)
			e.by.Append(b, "")
			expr.Constant(e.bounds[i+j]).Append(b, "")
			b.End()
			b.End()
		}
		b.End()
		b.End()
		expr.Constant(v).Append(b, "then")
		b.End()
	}
	b.End()
	if e.hasOther {
		expr.Constant(e.other).Append(b, "default")
	}
	b.End()
	b.End()
}
