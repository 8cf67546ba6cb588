package match

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// relation is the operator of a comparison.
type relation uint8

const (
	opEqual relation = iota
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
)

var relationNames = [...]string{"$eq", "$gt", "$gte", "$lt", "$lte"}

// comparison is the predicate of $eq, $lt, $lte, $gt and $gte: it compares a value with a constant of the same class
// of types, such as numbers; see acrossClasses for the exceptions. Manual:
// reference/method/db.collection.find#type-bracketing.
type comparison struct {
	rules
	rel  relation
	with bson.Value
	nan  bool // with is NaN
}

// comparison returns the node of a comparison on a field.
func (p *parser) comparison(at path.Path, rel relation, v bson.Value) (Node, error) {
	switch {
	case v.Type == bson.TypeUndefined:
		return nil, badValue("cannot compare to undefined")
	case v.Type == bson.TypeRegex && rel != opEqual:
		return nil, badValue("Can't have RegEx as arg to predicate over field '%s'.", at.String())
	}
	x := &struct { // one allocation
		leaf Leaf
		pred comparison
	}{pred: *newComparison(rel, v, p.rules)}
	x.leaf = *newLeaf(at, &x.pred)
	return &x.leaf, nil
}

func newComparison(rel relation, v bson.Value, r rules) *comparison {
	return &comparison{rules: r, rel: rel, with: v, nan: isNaN(v)}
}

func isNaN(v bson.Value) bool {
	switch v.Type {
	case bson.TypeDouble:
		f, _ := v.Double()
		return f != f
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		return d.IsNaN()
	}
	return false
}

func (c *comparison) name() string { return relationNames[c.rel] }

func (*comparison) reasons() (no, yes string) {
	return "comparison failed", "comparison succeeded"
}

func (*comparison) sameForEqual() bool { return true }

func (c *comparison) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	if v.Type.Class() != c.with.Type.Class() {
		return c.acrossClasses(v), nil
	}
	if c.rel == opEqual && v.Type == c.with.Type && len(v.Data) <= 12 && bytes.Equal(v.Data, c.with.Data) {
		return true, nil // fast path for numbers, ObjectIds, booleans and dates
	}
	if v.IsNumber() && (c.nan || isNaN(v)) {
		// NaN equals NaN and is neither less nor greater than any number.
		return c.nan && c.rel != opLess && c.rel != opGreater && isNaN(v), nil
	}
	n := bson.Compare(v, c.with, c.order)
	switch c.rel {
	case opGreater:
		return n > 0, nil
	case opGreaterEqual:
		return n >= 0, nil
	case opLess:
		return n < 0, nil
	case opLessEqual:
		return n <= 0, nil
	}
	return n == 0, nil
}

// matchesNull reports whether null satisfies the comparison.
func (c *comparison) matchesNull() bool {
	return c.with.Type == bson.TypeNull && c.rel != opGreater && c.rel != opLess
}

// acrossClasses compares a value v with a constant of another class of types. Only comparisons with null (which
// equals a missing value and perhaps undefined), with MinKey (below everything) and with MaxKey (above everything)
// can hold. Manual: reference/bson-type-comparison-order.
func (c *comparison) acrossClasses(v bson.Value) bool {
	switch c.with.Type {
	case bson.TypeNull:
		return c.matchesNull() && c.equalsNull(v)
	case bson.TypeMinKey:
		return c.rel == opGreater || c.rel == opGreaterEqual
	case bson.TypeMaxKey:
		return c.rel == opLess || c.rel == opLessEqual
	}
	return false
}

func (c *comparison) append(b *bson.Builder) { b.Value(c.name(), c.with) }

func (c *comparison) shape(dst []byte) []byte {
	return append(append(append(dst, c.name()...), ' '), valueShape(c.with))
}

func (c *comparison) bounds(add func(Interval)) (exact bool) {
	v := c.with
	if c.rel == opEqual {
		return c.equalBounds(v, add)
	}
	switch {
	case v.Type == bson.TypeNull:
		return c.nullBounds(add)
	case v.Type == bson.TypeArray:
		// An index holds no whole arrays but their elements, which may be anything, so no interval contains all
		// matches.
		add(AllValues())
		return false
	case c.nan:
		if c.rel == opLess || c.rel == opGreater {
			return true
		}
		add(point(nan))
		return true
	case v.Type == bson.TypeMinKey && c.rel <= opGreaterEqual, v.Type == bson.TypeMaxKey && c.rel >= opLess:
		// Above MinKey or below MaxKey are whole arrays too, with any elements, and a null key may represent a
		// missing value. So the bounds are all keys, and not exact.
		add(AllValues())
		return false
	case v.Type == bson.TypeMinKey, v.Type == bson.TypeMaxKey:
		if c.rel == opLessEqual || c.rel == opGreaterEqual {
			add(point(v))
		}
		return true
	}
	i := classBounds(v.Type)
	if v.IsNumber() {
		i.Lo = minusInfinity // NaN is not less than anything
	}
	switch c.rel {
	case opGreater:
		i.Lo, i.LoInclusive = v, false
	case opGreaterEqual:
		i.Lo, i.LoInclusive = v, true
	case opLess:
		i.Hi, i.HiInclusive = v, false
	case opLessEqual:
		i.Hi, i.HiInclusive = v, true
	}
	if n := bson.Compare(i.Lo, i.Hi, nil); n > 0 || n == 0 && !(i.LoInclusive && i.HiInclusive) {
		return true
	}
	add(i)
	return true
}

// proofs adds the intervals whose keys all belong to documents that match the comparison; see prover. If the path is
// a single field, a null key always represents a null or a missing value.
func (c *comparison) proofs(single bool, add func(Interval)) {
	if c.matchesNull() {
		if single {
			add(point(bson.Null))
		}
		return
	}
	var list []Interval
	if c.bounds(func(i Interval) { list = append(list, i) }) {
		for _, i := range list {
			add(i)
		}
	}
}

// equalBounds adds the bounds of equality with v.
func (r rules) equalBounds(v bson.Value, add func(Interval)) (exact bool) {
	switch v.Type {
	case bson.TypeNull:
		return r.nullBounds(add)
	case bson.TypeArray:
		// An index holds the array's elements, and an element that is an array has a key of its own. So the bounds
		// are the first element (undefined for an empty array) and the whole array.
		first, ok := bson.Raw(v.Data).Index(0)
		switch {
		case !ok:
			add(point(undefined))
			add(point(v))
		case bson.Compare(first, v, nil) < 0:
			add(point(first))
			add(point(v))
		case bson.Compare(first, v, nil) == 0:
			add(point(v))
		default:
			add(point(v))
			add(point(first))
		}
		return false
	}
	add(point(v))
	return true
}

// nullBounds adds the index keys of null and of missing fields, and of undefined if null equals it. The bounds are
// not exact: a null key also represents a path that ends inside an array of scalars, where nothing may equal null.
// If through is set, such a path equals null; then an empty array does too, and its key is undefined.
func (r rules) nullBounds(add func(Interval)) (exact bool) {
	if r.undefined || r.through {
		add(Interval{undefined, bson.Null, true, true})
	} else {
		add(point(bson.Null))
	}
	return false
}
