package expr

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// isArray is $isArray.
func isArray(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	return bson.Bool(a[0].Type == bson.TypeArray), nil
}

// size is $size.
func size(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(17124, "The argument to $size must be an array, but was of type: %s", a[0].Type)
	}
	return s.Int32(int32(s.lengthOf(env, d))), nil
}

// elemAt is $arrayElemAt: a negative index counts from the end.
func elemAt(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(28689, "$arrayElemAt's first argument must be an array, but is %s", a[0].Type)
	}
	if !a[1].IsNumber() {
		return a[0], mongoerr.New(28690, "$arrayElemAt's second argument must be a numeric value, but is %s", a[1].Type)
	}
	i, ok := asInt32(a[1])
	if !ok {
		return a[0], mongoerr.New(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer: %s", show(a[1]))
	}
	if i < 0 {
		if i += int32(s.lengthOf(env, d)); i < 0 {
			return bson.Value{}, nil
		}
	}
	return s.elementAt(env, d, int(i)), nil
}

// first is $first of an array.
func first(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(28689, "$first's argument must be an array, but is %s", a[0].Type)
	}
	v, _ := d.Index(0)
	return v, nil
}

// last is $last of an array.
func last(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(28689, "$last's argument must be an array, but is %s", a[0].Type)
	}
	return s.elementAt(env, d, s.lengthOf(env, d)-1), nil
}

// concatArrays is $concatArrays.
func concatArrays(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	for _, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
		if v.Type != bson.TypeArray {
			return v, mongoerr.New(28664, "$concatArrays only supports arrays, not %s", v.Type)
		}
	}
	b := s.newArray()
	for _, v := range a {
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			if err := s.element(env, b, it.Value); err != nil {
				s.drop(b)
				return v, err
			}
		}
	}
	return s.endArray(env, b)
}

// indexOfArray is $indexOfArray: array, value, start, end.
func indexOfArray(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(40090, "$indexOfArray requires an array as a first argument, found: %s", a[0].Type)
	}
	start, end := int32(0), int32(1<<31-1)
	for i, to := range [2]*int32{&start, &end} {
		if len(a) <= i+2 {
			break
		}
		v := a[i+2]
		n, ok := asInt32(v)
		if !ok {
			return v, mongoerr.New(9711600, "$indexOfArray requires an integral index, found: %s", show(v))
		}
		if n < 0 {
			return v, mongoerr.New(9711601, "$indexOfArray requires a nonnegative index, found: %s", show(v))
		}
		*to = n
	}
	i, err := s.find(env, d, a[1], start, end)
	return s.Int32(i), err
}

// reverseArray is $reverseArray.
func reverseArray(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(34435, "The argument to $reverseArray must be an array, but was of type: %s", a[0].Type)
	}
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	if err := s.pushAll(env, d); err != nil {
		return a[0], err
	}
	slices.Reverse(s.stack[base:])
	return s.arrayOf(env, s.stack[base:])
}

// rangeArray is $range: start, end, step.
func rangeArray(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	n := [3]int32{0, 0, 1}
	codes := [3][2]mongoerr.Code{{34443, 34444}, {34445, 34446}, {34447, 34448}}
	what := [3]string{"starting value", "ending value", "step value"}
	for i, v := range a {
		if !v.IsNumber() {
			return v, mongoerr.New(codes[i][0], "$range requires a numeric %s, found value of type: %s", what[i], v.Type)
		}
		var ok bool
		if n[i], ok = asInt32(v); !ok {
			return v, mongoerr.New(codes[i][1], "$range requires a %s that can be represented as a 32-bit integer, found value: %s", what[i], show(v))
		}
	}
	if n[2] == 0 {
		return bson.Value{}, mongoerr.New(34449, "$range requires a non-zero step value")
	}
	step := int64(n[2])
	b := s.newArray()
	for i := int64(n[0]); step > 0 && i < int64(n[1]) || step < 0 && i > int64(n[1]); i += step {
		err := env.Tick()
		if err == nil {
			err = s.room(env, b, 4+headBytes)
		}
		if err != nil {
			s.drop(b)
			return bson.Value{}, err
		}
		b.Int32("", int32(i))
	}
	return s.endArray(env, b)
}

// slice is $slice: array, n or array, position, n.
func slice(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	for _, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(28724, "First argument to $slice must be an array, but is of type: %s", a[0].Type)
	}
	var n [2]int
	for i, v := range a[1:] {
		if !v.IsNumber() {
			return v, mongoerr.New(28725, "Argument to $slice must be numeric, but is of type: %s", v.Type)
		}
		x, ok := asInt32(v)
		if !ok {
			return v, mongoerr.New(28726, "Argument to $slice can't be represented as a 32-bit integer: %s", show(v))
		}
		n[i] = int(x)
	}
	size := s.lengthOf(env, d)
	var from, to int
	if len(a) == 2 {
		if n[0] >= 0 {
			to = min(size, n[0])
		} else {
			from, to = max(0, size+n[0]), size
		}
	} else {
		if n[1] <= 0 {
			return a[2], mongoerr.New(28729, "Third argument to $slice must be positive: %s", show(a[2]))
		}
		if from = n[0]; from < 0 {
			from = max(0, size+from)
		}
		from = min(from, size)
		to = min(size, from+n[1])
	}
	if from == 0 && to == size {
		return a[0], nil
	}
	b := s.newArray()
	i, it := 0, d.Iter()
	if t := s.tableOf(env, d); t != nil && from < to {
		i, it = from, t.iterAt(d, from)
	}
	for ; i < to && it.Next(); i++ {
		if i < from {
			continue
		}
		if err := s.element(env, b, it.Value); err != nil {
			s.drop(b)
			return a[0], err
		}
	}
	return s.endArray(env, b)
}
