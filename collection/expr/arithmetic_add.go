package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// addAll is $add: the sum of any number of numbers and at most one date.
func addAll(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	t := sum{widest: 1}
	for _, v := range a {
		switch {
		case v.IsNullish():
			return bson.Null, nil
		case !v.IsNumber() && v.Type != bson.TypeDateTime:
			return v, mongoerr.New(mongoerr.TypeMismatch, "$add only supports numeric or date types, not %s", v.Type)
		}
		if err := t.add(v); err != nil {
			return v, err
		}
	}
	return t.value(&s.Arena)
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
