package expr

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// sorted pushes the elements of an array onto the stack of s, in order and without duplicates, and returns
// them. The caller must truncate the stack again.
// Errors: the reason why the command must end; ExceededMemoryLimit.
func (s *Scratch) sorted(env *mql.Env, v bson.Value) ([]bson.Value, error) {
	base := len(s.stack)
	if err := s.pushAll(env, bson.Raw(v.Data)); err != nil {
		return nil, err
	}
	return s.dedupe(env, base)
}

// dedupe sorts the values on the stack from base on, removes duplicates, and returns them.
// Errors: the reason why the command must end.
func (s *Scratch) dedupe(env *mql.Env, base int) ([]bson.Value, error) {
	o := env.Order()
	if err := mql.SortValues(env, s.stack[base:], 1); err != nil {
		return nil, err
	}
	set := slices.CompactFunc(s.stack[base:], func(x, y bson.Value) bool { return bson.Equal(x, y, o) })
	s.stack = s.stack[:base+len(set)]
	return s.stack[base:], nil
}

// contains searches a sorted set.
func contains(env *mql.Env, set []bson.Value, v bson.Value) bool {
	o := env.Order()
	_, ok := slices.BinarySearchFunc(set, v, func(x, y bson.Value) int { return bson.Compare(x, y, o) })
	return ok
}

// arrayOf makes an array of values.
func (s *Scratch) arrayOf(env *mql.Env, vs []bson.Value) (bson.Value, error) {
	b := s.newArray()
	for _, v := range vs {
		if err := s.element(env, b, v); err != nil {
			s.drop(b)
			return v, err
		}
	}
	return s.endArray(env, b)
}

// setUnion is $setUnion.
func setUnion(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	for _, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
		if v.Type != bson.TypeArray {
			return v, mongoerr.New(17043, "All operands of $setUnion must be arrays. One argument is of type: %s", v.Type)
		}
		if err := s.pushAll(env, bson.Raw(v.Data)); err != nil {
			return v, err
		}
	}
	set, err := s.dedupe(env, base)
	if err != nil {
		return bson.Null, err
	}
	return s.arrayOf(env, set)
}

// setIntersection is $setIntersection.
func setIntersection(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	n := 0 // size of the set, which begins at base
	for i, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
		if v.Type != bson.TypeArray {
			return v, mongoerr.New(17047, "All operands of $setIntersection must be arrays. One argument is of type: %s", v.Type)
		}
		next, err := s.sorted(env, v)
		if err != nil {
			return v, err
		}
		if i == 0 {
			n = len(next)
		} else {
			n = len(slices.DeleteFunc(s.stack[base:base+n], func(x bson.Value) bool { return !contains(env, next, x) }))
		}
		s.stack = s.stack[:base+n]
	}
	return s.arrayOf(env, s.stack[base:])
}

// setDifference is $setDifference. The result is in the order of the first operand.
func setDifference(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return bson.Null, nil
	}
	if a[0].Type != bson.TypeArray {
		return a[0], mongoerr.New(17048, "both operands of $setDifference must be arrays. First argument is of type: %s", a[0].Type)
	}
	if a[1].Type != bson.TypeArray {
		return a[0], mongoerr.New(17049, "both operands of $setDifference must be arrays. Second argument is of type: %s", a[1].Type)
	}
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	without, err := s.sorted(env, a[1])
	if err != nil {
		return a[0], err
	}
	mine, err := s.sorted(env, a[0])
	if err != nil {
		return a[0], err
	}
	marks := len(mine)
	if err := s.take(env, marks); err != nil {
		return a[0], err
	}
	defer func() { s.outside -= marks }()
	used := make([]bool, marks)
	o := env.Order()
	b := s.newArray()
	for it := bson.Raw(a[0].Data).Iter(); it.Next(); {
		if err := env.Tick(); err != nil {
			s.drop(b)
			return a[0], err
		}
		i, ok := slices.BinarySearchFunc(mine, it.Value, func(x, y bson.Value) int { return bson.Compare(x, y, o) })
		if ok && !used[i] && !contains(env, without, it.Value) {
			used[i] = true
			if err := s.element(env, b, it.Value); err != nil {
				s.drop(b)
				return a[0], err
			}
		}
	}
	return s.endArray(env, b)
}

// parseSetEquals checks constant operands at parse time.
func parseSetEquals(p *parser, op *Operator, v bson.Value) (Expr, error) {
	args, err := p.list(op, v)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(17045, "$setEquals needs at least two arguments had: %d", len(args))
	}
	for _, e := range args {
		if c, ok := IsConstant(e); ok && c.Type != bson.TypeArray {
			return nil, mongoerr.New(5887502, "All operands of $setEquals must be arrays. One argument is of type: %s", c.Type)
		}
	}
	return p.fold(&call{name: op.Name, fn: setEquals, args: args})
}

// setEquals is $setEquals.
func setEquals(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	for _, v := range a {
		if v.Type != bson.TypeArray {
			return v, mongoerr.New(17044, "All operands of $setEquals must be arrays. One argument is of type: %s", v.Type)
		}
	}
	first, err := s.sorted(env, a[0])
	if err != nil {
		return a[0], err
	}
	n := len(first)
	o := env.Order()
	for _, v := range a[1:] {
		s.stack = s.stack[:base+n]
		next, err := s.sorted(env, v)
		if err != nil {
			return v, err
		}
		if !slices.EqualFunc(s.stack[base:base+n], next, func(x, y bson.Value) bool { return bson.Equal(x, y, o) }) {
			return bson.False, nil
		}
	}
	return bson.True, nil
}

// setIsSubset is $setIsSubset.
func setIsSubset(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].Type != bson.TypeArray {
		return a[0], mongoerr.New(17046, "both operands of $setIsSubset must be arrays. First argument is of type: %s", a[0].Type)
	}
	if a[1].Type != bson.TypeArray {
		return a[0], mongoerr.New(17042, "both operands of $setIsSubset must be arrays. Second argument is of type: %s", a[1].Type)
	}
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	set, err := s.sorted(env, a[1])
	if err != nil {
		return a[0], err
	}
	for it := bson.Raw(a[0].Data).Iter(); it.Next(); {
		if err := env.Tick(); err != nil {
			return a[0], err
		}
		if !contains(env, set, it.Value) {
			return bson.False, nil
		}
	}
	return bson.True, nil
}

// allElementsTrue is $allElementsTrue.
func allElementsTrue(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].Type != bson.TypeArray {
		return a[0], mongoerr.New(17040, "$allElementsTrue's argument must be an array, but is %s", a[0].Type)
	}
	for it := bson.Raw(a[0].Data).Iter(); it.Next(); {
		if !it.Value.Truthy() {
			return bson.False, nil
		}
	}
	return bson.True, nil
}

// anyElementTrue is $anyElementTrue.
func anyElementTrue(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].Type != bson.TypeArray {
		return a[0], mongoerr.New(17041, "$anyElementTrue's argument must be an array, but is %s", a[0].Type)
	}
	for it := bson.Raw(a[0].Data).Iter(); it.Next(); {
		if it.Value.Truthy() {
			return bson.True, nil
		}
	}
	return bson.False, nil
}
