package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// sortKeys builds the values of {$meta: "sortKey"} for rows, and reuses its memory.
type sortKeys struct {
	b   bson.Builder
	buf []byte
	one bson.Builder
	mem []byte
}

// of returns the sort key of a row: an array of the values by which the row was sorted, or missing if it has
// none. The encoded key does not hold the types of numbers, so of takes them from the row's document, which
// must be the sorted one. Under a collation, strings are returned as the bytes that the collation compares.
func (k *sortKeys) of(r *Row, p *order.Pattern) (bson.Value, error) {
	if p == nil || r.SortKey == nil {
		return bson.Value{}, nil
	}
	key := r.SortKey
	k.b.ResetArray(k.buf[:0])
	var d keystring.Decoder
	for i := range p.Parts {
		part := &p.Parts[i]
		k.one.Reset(k.mem[:0])
		var err error
		if key, err = d.Value(&k.one, "", key, part.Dir); err != nil {
			return bson.Value{}, err
		}
		k.mem = k.one.Finish()
		v := bson.Raw(k.mem).Get("")
		if part.Meta == "" {
			v = original(r.Doc, part.Path, v)
		}
		k.b.Value("", v)
	}
	k.buf = k.b.Finish()
	return bson.Value{Type: bson.TypeArray, Data: k.buf}, nil
}

// original returns the first value at a path of a document that equals v, with its own number type; if there is
// none, v.
func original(doc bson.Raw, p path.Path, v bson.Value) bson.Value {
	p.Walk(doc, path.LeafOnly, func(x bson.Value, _ []int32) bool {
		if x.IsMissing() || !bson.Equal(x, v, nil) {
			return true
		}
		v = x
		return false
	})
	return v
}

// withSortKey adds the sort key to the metadata of rows.
type withSortKey struct {
	in      Operator
	pattern *order.Pattern
	keys    sortKeys
	meta    metaBuilder
	row     Row
}

// WithSortKey adds {$meta: "sortKey"} to the metadata of rows that are sorted by p and have a SortKey,
// so that later stages can read it.
// Manual: reference/operator/aggregation/meta.
func WithSortKey(in Operator, p *order.Pattern) Operator {
	return &withSortKey{in: in, pattern: p}
}

func (w *withSortKey) Next(env *mql.Env) (*Row, error) {
	r, err := w.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	v, err := w.keys.of(r, w.pattern)
	if err != nil {
		return nil, err
	}
	name := expr.MetaSortKey.String()
	b := w.meta.begin(nil)
	for it := r.Meta.Iter(); it.Next(); {
		if string(it.Name) != name { // key of an earlier sort
			b.ValueBytes(it.Name, it.Value)
		}
	}
	if !v.IsMissing() {
		b.Value(name, v)
	}
	w.row = *r
	w.row.Meta = w.meta.end()
	return &w.row, nil
}

// Explain omits the operator, because MongoDB has no such stage.
func (w *withSortKey) Explain(b *bson.Builder, stats bool) { w.in.Explain(b, stats) }
func (w *withSortKey) Park() (int, bool)                   { return w.in.Park() }
func (w *withSortKey) Close()                              { w.in.Close() }
