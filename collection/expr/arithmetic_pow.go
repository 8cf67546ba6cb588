package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// pow is $pow. For integers the result is an integer if it is exact and fits, otherwise a double.
func pow(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	x, y := a[0], a[1]
	if x.IsNullish() || y.IsNullish() {
		return bson.Null, nil
	}
	if !x.IsNumber() {
		return x, mongoerr.New(28762, "$pow's base must be numeric, not %s", x.Type)
	}
	if !y.IsNumber() {
		return y, mongoerr.New(28763, "$pow's exponent must be numeric, not %s", y.Type)
	}
	f, _ := x.AsFloat()
	g, _ := y.AsFloat()
	if !x.Truthy() && g < 0 {
		return x, mongoerr.New(28764, "$pow cannot take a base of 0 and a negative exponent")
	}
	if x.Type == bson.TypeDecimal128 || y.Type == bson.TypeDecimal128 {
		return s.Decimal(decimal.Pow(toDecimal(x), toDecimal(y))), nil
	}
	n, okN := x.Int64()
	m, okM := y.Int64()
	if !okN || !okM {
		return s.Double(cPow(f, g)), nil
	}
	power, ok := powInt64(n, m)
	switch {
	case !ok:
		return s.Double(cPow(f, g)), nil
	case x.Type == bson.TypeInt64 || y.Type == bson.TypeInt64:
		return s.Int64(power), nil
	}
	return s.Int(power), nil
}

// cPow returns x to the power y. Special values are treated as by the C library's pow: the result is 1 for both 1^NaN
// and NaN^0.
func cPow(x, y float64) float64 { return math.Pow(x, y) }

// powInt64 computes n^m; ok is false if the result is not an int64.
func powInt64(n, m int64) (power int64, ok bool) {
	switch n {
	case 0:
		if m == 0 {
			return 1, true
		}
		return 0, m > 0
	case 1:
		return 1, true
	case -1:
		return 1 - 2*(m&1), true
	}
	if m < 0 || m > 63 {
		return 0, false
	}
	power = 1
	for range m {
		if power, ok = MultiplyInt64(power, n); !ok {
			return 0, false
		}
	}
	return power, true
}
