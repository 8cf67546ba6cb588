package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// bitwise returns the functions of $bitAnd, $bitOr and $bitXor; start is the result without operands.
func bitwise(op string, start int64, f func(x, y int64) int64) function {
	return func(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
		n, long, null := start, false, false
		for _, v := range a {
			if v.IsNullish() {
				null = true
				continue
			}
			m, ok := v.Int64()
			if !ok {
				return v, mongoerr.New(mongoerr.TypeMismatch, "%s only supports int and long operands.", op)
			}
			long = long || v.Type == bson.TypeInt64
			n = f(n, m)
		}
		switch {
		case null:
			return bson.Null, nil
		case long:
			return s.Int64(n), nil
		}
		return s.Int32(int32(n)), nil
	}
}

func bitAnd(x, y int64) int64 { return x & y }
func bitOr(x, y int64) int64  { return x | y }
func bitXor(x, y int64) int64 { return x ^ y }

// bitNot is $bitNot.
func bitNot(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	v := a[0]
	if v.IsNullish() {
		return bson.Null, nil
	}
	n, ok := v.Int64()
	switch {
	case !ok:
		return v, mongoerr.New(28765, "$bitNot only supports int and long, not %s", v.Type)
	case v.Type == bson.TypeInt64:
		return s.Int64(^n), nil
	}
	return s.Int32(int32(^n)), nil
}
