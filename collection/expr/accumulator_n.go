package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var nSignature = &signature{
	fields:    []field{{name: "n", missing: 5787906}, {name: "input", missing: 5787907}},
	notObject: 5787900, unknown: 5787901,
}

// CountOfN returns the argument n of $firstN and similar operators: how many values they keep.
//
// Errors: 7548606 for a value that is not a positive integer.
func CountOfN(op string, v bson.Value) (int64, error) {
	n, ok := v.AsInt64()
	if !ok {
		return 0, mongoerr.New(7548606, "Value for 'n' of %s must be of integral type, but found %s", op, show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(7548606, "'n' of %s must be greater than 0, found %d", op, n)
	}
	return n, nil
}

// nOf returns the functions of $firstN, $lastN, $minN and $maxN of an array.
func nOf(op string) namedFunction {
	return func(env *mql.Env, s *Scratch, a []bson.Value, _ given) (bson.Value, error) {
		n, err := CountOfN(op, a[0])
		if err != nil {
			return a[0], err
		}
		if a[1].Type != bson.TypeArray {
			return a[1], mongoerr.New(5788200, "%s's 'input' must be an array, but found %s", op, a[1].Type)
		}
		base := len(s.stack)
		defer func() { s.stack = s.stack[:base] }()
		for it := bson.Raw(a[1].Data).Iter(); it.Next(); {
			if (op == "$minN" || op == "$maxN") && it.Value.IsNullish() {
				continue
			}
			if err := s.push(env, it.Value); err != nil {
				return a[1], err
			}
		}
		vs := s.stack[base:]
		switch op {
		case "$minN":
			err = mql.SortValues(env, vs, 1)
		case "$maxN":
			err = mql.SortValues(env, vs, -1)
		case "$lastN":
			if int64(len(vs)) > n {
				vs = vs[int64(len(vs))-n:]
			}
		}
		if err != nil {
			return a[1], err
		}
		if int64(len(vs)) > n {
			vs = vs[:n]
		}
		return s.arrayOf(env, vs)
	}
}
