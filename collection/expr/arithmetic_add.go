package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// addAll is $add: the sum of any number of numbers and at most one date.
func addAll(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	t := sum{widest: 1}
	for i, v := range a {
		switch {
		case v.Type == bson.TypeDateTime:
			return addToDate(s, a, i)
		case v.IsNullish():
			return bson.Null, nil
		case !v.IsNumber():
			return v, mongoerr.New(mongoerr.TypeMismatch, "$add only supports numeric or date types, not %s", v.Type)
		}
		if err := t.add(v); err != nil {
			return v, err
		}
	}
	return t.value(&s.Arena)
}

// addToDate is $add with a date, the first of which is a[at]. The numbers are added exactly and their sum is rounded once,
// to milliseconds: half a millisecond away from zero for doubles, to the even one for decimals.
//
// Errors: TypeMismatch, 16612 for a second date, Overflow.
func addToDate(s *Scratch, a []bson.Value, at int) (bson.Value, error) {
	var t Summation
	for i, v := range a {
		switch {
		case i == at:
		case v.IsNullish():
			return bson.Null, nil
		case v.Type == bson.TypeDateTime:
			return v, mongoerr.New(16612, "only one date allowed in an $add expression")
		case !t.Add(v):
			return v, mongoerr.New(mongoerr.TypeMismatch, "$add only supports numeric or date types, not %s", v.Type)
		}
	}
	ms, _ := a[at].DateTime()
	n, ok := t.rounded()
	if ok {
		ms, ok = AddInt64(ms, n)
	}
	if !ok {
		return a[at], dateOverflow("$add")
	}
	return s.DateTime(ms), nil
}

// subtract is $subtract.
func subtract(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return bson.Null, nil
	}
	return Subtract(&s.Arena, a[0], a[1])
}

// multiplyAll is $multiply.
func multiplyAll(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	product := one
	for i, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
		if i == 0 && v.IsNumber() {
			product = v
			continue
		}
		var err error
		if product, err = Multiply(&s.Arena, product, v); err != nil {
			return v, err
		}
	}
	return product, nil
}

// one is the int32 1.
var one = bson.Value{Type: bson.TypeInt32, Data: []byte{1, 0, 0, 0}}
