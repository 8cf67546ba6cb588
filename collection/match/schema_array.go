package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// itemsRule represents the keywords items and additionalItems: a schema for all elements, or one for each of the
// first elements and a schema for the elements after them.
type itemsRule struct {
	all  *schema
	each []*schema
	// rest is the schema of the elements after the first ones, which each covers; nil allows anything.
	rest *schema
	// closed allows no elements after those of each.
	closed bool
}

func (r *itemsRule) accepts(j *judge, v bson.Value) bool {
	i, _ := r.find(j, v)
	return i < 0
}

// find returns the index of the first element of v that is not accepted, and the schema that rejects it; the schema
// is nil if no element is allowed at that index. The index is -1 if all elements are accepted.
func (r *itemsRule) find(j *judge, v bson.Value) (int, *schema) {
	arr, ok := v.Array()
	if !ok {
		return -1, nil
	}
	i := 0
	for it := arr.Iter(); it.Next(); i++ {
		s := r.all
		switch {
		case s != nil:
		case i < len(r.each):
			s = r.each[i]
		case r.closed:
			return i, nil
		default:
			s = r.rest
		}
		if s != nil && !s.accepts(j, it.Value) {
			return i, s
		}
	}
	return -1, nil
}

func (r *itemsRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	i, s := r.find(j, v)
	arr, _ := v.Array()
	e, _ := arr.Index(i)
	switch {
	case s == nil:
		b.String("operatorName", "additionalItems")
		b.BeginDoc("specifiedAs")
		b.Bool("additionalItems", false)
		b.End()
		b.String("reason", "found additional items")
		b.BeginArray("additionalItems")
		n := 0
		for x := range arr.Values() {
			if n++; n > len(r.each) {
				b.Value("", x)
			}
		}
		b.End()
	case r.all != nil:
		b.String("operatorName", "items")
		b.String("reason", "At least one item did not match the sub-schema")
		b.Int32("itemIndex", int32(i))
		s.explain(j, b, "details", e)
	case i < len(r.each):
		b.String("operatorName", "items")
		b.BeginArray("details")
		n := 0
		for x := range arr.Values() {
			if n < len(r.each) && !r.each[n].accepts(j, x) {
				b.BeginDoc("")
				b.Int32("itemIndex", int32(n))
				r.each[n].explain(j, b, "details", x)
				b.End()
			}
			n++
		}
		b.End()
	default:
		b.String("operatorName", "additionalItems")
		b.String("reason", "At least one additional item did not match the sub-schema")
		b.Int32("itemIndex", int32(i))
		s.explain(j, b, "details", e)
	}
}

func (p *schemaParser) items(v bson.Value) (err error) {
	r := &itemsRule{}
	switch v.Type {
	case bson.TypeDocument:
		if r.all, err = p.schema(bson.Raw(v.Data)); err != nil {
			return err
		}
	case bson.TypeArray:
		for e := range bson.Raw(v.Data).Values() {
			s, err := p.sub("items", e)
			if err != nil {
				return err
			}
			r.each = append(r.each, s)
		}
	default:
		return p.wrongType("items", "an array or an object")
	}
	more, closed, err := p.additional("additionalItems")
	if r.all == nil {
		r.rest, r.closed = more, closed
	}
	p.out.rules = append(p.out.rules, r)
	return err
}

// uniqueRule is uniqueItems.
type uniqueRule struct{ keyword }

func (r *uniqueRule) accepts(j *judge, v bson.Value) bool { return r.duplicate(j, v).IsMissing() }

// duplicate returns a value that occurs more than once in the array v, missing if there is none. uniqueItems forbids
// it.
func (r *uniqueRule) duplicate(j *judge, v bson.Value) bson.Value {
	arr, ok := v.Array()
	if !ok {
		return bson.Value{}
	}
	list := make([]bson.Value, 0, 16)
	for e := range arr.Values() {
		list = append(list, canonical(e))
	}
	if j.err == nil {
		j.err = mql.Sort(j.env, list, func(a, b bson.Value) int { return bson.Compare(a, b, nil) })
	}
	for i := 1; i < len(list); i++ {
		if bson.Equal(list[i-1], list[i], nil) {
			return list[i]
		}
	}
	return bson.Value{}
}

// canonical returns v with the fields of all documents sorted, so that bson.Compare finds values equal which JSON
// schema treats as equal: the order of fields does not count there, and no collation applies.
func canonical(v bson.Value) bson.Value {
	switch v.Type {
	case bson.TypeArray:
		b := bson.NewArrayBuilder(nil)
		for e := range bson.Raw(v.Data).Values() {
			b.Value("", canonical(e))
		}
		return b.Doc().ArrayValue()
	case bson.TypeDocument:
		var fields []bson.Field
		for name, e := range bson.Raw(v.Data).Fields() {
			fields = append(fields, bson.Field{Name: name, Value: canonical(e)})
		}
		slices.SortStableFunc(fields, func(a, b bson.Field) int { return slices.Compare(a.Name, b.Name) })
		b := bson.NewBuilder(nil)
		for _, f := range fields {
			b.ValueBytes(f.Name, f.Value)
		}
		return b.Doc().Value()
	}
	return v
}

func (r *uniqueRule) explain(j *judge, b *bson.Builder, v bson.Value) {
	r.head(b, "found a duplicate item")
	consider(b, v)
	b.Value("duplicatedValue", r.duplicate(j, v))
}

func (p *schemaParser) uniqueItems(v bson.Value) error {
	on, ok := v.Boolean()
	if !ok {
		return p.wrongType(p.name, "a boolean")
	}
	if !on {
		return nil
	}
	return p.add(&uniqueRule{p.keyword})
}
