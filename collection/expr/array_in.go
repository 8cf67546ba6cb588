package expr

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// parseArrayIn reads {$in: [value, array]}. A constant array of constantSetMin elements or more is sorted once, so that
// each evaluation is a binary search.
func parseArrayIn(p *parser, op *Operator, v bson.Value) (Expr, error) {
	args, err := p.list(op, v)
	if err != nil {
		return nil, err
	}
	fn := in
	if c, ok := IsConstant(args[1]); ok {
		if a, ok := c.Array(); ok && a.Len() >= constantSetMin {
			fn = (&constantSet{array: a}).in
		}
	}
	return p.fold(&call{name: op.Name, fn: fn, args: args})
}

// in is $in.
func in(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	d, ok := a[1].Array()
	if !ok {
		return a[1], mongoerr.New(40081, "$in requires an array as a second argument, found: %s", a[1].Type)
	}
	i, err := s.find(env, d, a[0], 0, math.MaxInt32)
	return bson.Bool(i >= 0), err
}

// constantSetMin is the number of elements from which on a binary search is faster than a comparison with each element.
const constantSetMin = 8

// constantSet is the set of the elements of a constant array. Its elements are sorted by the first evaluation and not
// at parse time, because the collation of a collection is unknown when some expressions are parsed. Safe for
// concurrent use.
type constantSet struct {
	array  bson.Raw
	sorted atomic.Pointer[sortedSet]
}

// sortedSet is a constantSet sorted by an order of strings, without duplicates.
type sortedSet struct {
	order  bson.StringOrder
	values []bson.Value
}

// in is $in with the constant array as its second argument.
func (c *constantSet) in(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	set := c.sorted.Load()
	if set == nil {
		var err error
		if set, err = c.sort(env); err != nil {
			return a[0], err
		}
	}
	if set.order != env.Order() { // the first evaluation was under another collation
		return in(env, s, a)
	}
	return bson.Bool(contains(env, set.values, a[0])), nil
}

// sort sorts the elements by the order of strings of env. Their memory counts until the command ends.
// Errors: the reason why the command must end; ExceededMemoryLimit.
func (c *constantSet) sort(env *mql.Env) (*sortedSet, error) {
	n := c.array.Len()
	if err := env.Memory.GrowValues(n*valueBytes, "a constant expression"); err != nil {
		return nil, err
	}
	set := &sortedSet{order: env.Order(), values: make([]bson.Value, 0, n)}
	for it := c.array.Iter(); it.Next(); {
		set.values = append(set.values, it.Value)
	}
	if err := mql.SortValues(env, set.values, 1); err != nil {
		return nil, err
	}
	set.values = slices.CompactFunc(set.values, func(x, y bson.Value) bool { return bson.Equal(x, y, set.order) })
	if !c.sorted.CompareAndSwap(nil, set) {
		env.Memory.ShrinkValues(n * valueBytes)
		set = c.sorted.Load()
	}
	return set, nil
}
