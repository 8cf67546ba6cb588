package agg

import (
	"bytes"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// The accumulators that return the first or last documents of a group in an order of their own.
var (
	accBottom  = AccumulatorDef{Name: "$bottom", Parse: parseTop, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/bottom"}
	accBottomN = AccumulatorDef{Name: "$bottomN", Parse: parseTop, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/bottomN"}
	accTop     = AccumulatorDef{Name: "$top", Parse: parseTop, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/top"}
	accTopN    = AccumulatorDef{Name: "$topN", Parse: parseTop, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/topN"}
)

// topFunc is a parsed accumulator with the arguments {sortBy, output}: $top, $topN, $bottom or $bottomN.
type topFunc struct {
	name   string
	n      expr.Expr // nil: a single value, not in an array
	output expr.Expr
	by     order.Pattern
	bottom bool
}

func parseTop(p *parser, name string, v bson.Value) (Func, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(5788001, "specification must be an object; found %s: %s", name, v.Type)
	}
	f := &topFunc{name: name, bottom: name == "$bottom" || name == "$bottomN"}
	many := name == "$topN" || name == "$bottomN"
	var by bson.Raw
	var err error
	for it := d.Iter(); it.Next(); {
		switch field := string(it.Name); {
		case field == "n" && many:
			f.n, err = expr.Parse(p.env, it.Value)
		case field == "output":
			f.output, err = expr.Parse(p.env, it.Value)
		case field == "sortBy":
			if by, ok = it.Value.Doc(); !ok {
				return nil, mongoerr.New(10065, "invalid parameter: expected an object (sortBy)")
			}
		default:
			return nil, mongoerr.New(5788002, "Unknown argument to %s '%s'", name, field)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case many && f.n == nil:
		return nil, mongoerr.New(5788003, "Missing value for 'n'")
	case f.output == nil:
		return nil, mongoerr.New(5788004, "Missing value for 'output'")
	case by == nil:
		return nil, mongoerr.New(5788005, "Missing value for 'sortBy'")
	}
	if by.IsEmpty() {
		return nil, mongoerr.New(15976, "$sort stage must have at least one sort key")
	}
	if f.by, err = order.Parse(p.env, by); err != nil {
		return nil, err
	}
	if f.n != nil {
		if c, ok := expr.IsConstant(f.n); ok {
			if _, err := expr.CountOfN(name, c); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

func (f *topFunc) Start(env *mql.Env, id bson.Value, s *expr.Scratch) (State, error) {
	n := int64(1)
	if f.n != nil {
		var err error
		if n, err = startN(env, f.name, f.n, id, s); err != nil {
			return nil, err
		}
	}
	return &topState{f: f, n: n}, nil
}

func (f *topFunc) Paths(add func(string)) {
	f.output.Paths(add)
	f.by.Paths(func(p path.Path) { add(p.String()) })
}

func (f *topFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(f.name)
	if f.n != nil {
		f.n.Append(b, "n")
	}
	f.output.Append(b, "output")
	f.by.Append(b, "sortBy")
	b.End()
	b.End()
}

// topState is the state of $topN: the outputs of the first n documents in the order sortBy, or of the last n
// for $bottomN; n is 1 for $top and $bottom. Among documents with equal keys, the earlier document comes first.
type topState struct {
	f    *topFunc
	n    int64
	best []topRow // sorted
	key  []byte
	held int
}

type topRow struct {
	key []byte
	v   bson.Value
}

func (t *topState) Add(env *mql.Env, doc bson.Raw, s *expr.Scratch) (int, error) {
	var err error
	if t.key, err = t.f.by.AppendKeyMeta(env, t.key[:0], doc, s.NamedMeta); err != nil {
		return 0, err
	}
	if t.refuses(t.key) {
		return 0, nil
	}
	v, err := t.f.output.Eval(env, doc, s)
	if err != nil {
		return 0, err
	}
	return t.insert(t.key, v)
}

// refuses reports whether a further document with this sort key would not be among the n documents that the state
// keeps; false while it has fewer.
func (t *topState) refuses(key []byte) bool {
	if int64(len(t.best)) < t.n {
		return false
	}
	if t.f.bottom {
		return bytes.Compare(key, t.best[0].key) < 0
	}
	return bytes.Compare(key, t.best[len(t.best)-1].key) >= 0
}

func (t *topState) insert(key []byte, v bson.Value) (grew int, err error) {
	if v.IsMissing() {
		v = bson.Null
	}
	at := sort.Search(len(t.best), func(i int) bool { return bytes.Compare(key, t.best[i].key) < 0 })
	kept, n := copyInto(bson.Value{}, v)
	row := topRow{append([]byte(nil), key...), kept}
	grew = n + len(key) + 64
	t.best = append(t.best, topRow{})
	copy(t.best[at+1:], t.best[at:])
	t.best[at] = row
	if int64(len(t.best)) > t.n {
		drop := len(t.best) - 1
		if t.f.bottom {
			drop = 0
		}
		grew -= len(t.best[drop].key) + cap(t.best[drop].v.Data) + 64
		if t.f.bottom {
			copy(t.best, t.best[1:])
		}
		t.best[len(t.best)-1] = topRow{}
		t.best = t.best[:len(t.best)-1]
	}
	t.held += grew
	return grew, checkHeld(t.f.name, t.held)
}

// Merge adds a partial state, an array in which each sort key is followed by its output.
func (t *topState) Merge(_ *mql.Env, partial bson.Value) (grew int, err error) {
	a, ok := partial.Array()
	if !ok {
		return 0, badPartial(t.f.name)
	}
	for it := a.Iter(); it.Next(); {
		_, key, ok := it.Value.Binary()
		if !ok || !it.Next() {
			return grew, badPartial(t.f.name)
		}
		if t.refuses(key) {
			continue
		}
		n, err := t.insert(key, it.Value)
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

func (t *topState) Partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, r := range t.best {
		b.Binary("", 0, r.key)
		b.Value("", r.v)
	}
	b.End()
}

func (t *topState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	if t.f.n == nil {
		v := bson.Null
		if len(t.best) > 0 {
			v = t.best[0].v
		}
		b.Value(name, v)
		return nil
	}
	b.BeginArray(name)
	for _, r := range t.best {
		b.Value("", r.v)
	}
	b.End()
	return nil
}
