package expr

import (
	"math"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// rounding returns the functions of $round (half to even) and $trunc. Their arguments are a number and the
// number of decimal places to keep.
func rounding(op string, double func(float64) float64, dec func(bson.Decimal128, int) bson.Decimal128) function {
	return func(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
		v := a[0]
		if v.IsNullish() {
			return bson.Null, nil
		}
		if !v.IsNumber() {
			return v, mongoerr.New(51081, "%s only supports numeric types, not %s", op, v.Type)
		}
		places := int64(0)
		if len(a) > 1 {
			if a[1].IsNullish() {
				return bson.Null, nil
			}
			var err error
			if places, err = placesOf(op, a[1]); err != nil {
				return v, err
			}
		}
		switch v.Type {
		case bson.TypeDecimal128:
			d, _ := v.Decimal()
			return s.Decimal(dec(d, int(places))), nil
		case bson.TypeDouble:
			f, _ := v.Double()
			if places == 0 || f != f || math.IsInf(f, 0) {
				return s.Double(double(f)), nil
			}
			// A double is rounded as a decimal that has all its digits.
			d, _ := decimal.Parse(strconv.FormatFloat(f, 'e', 33, 64))
			return s.Double(decimal.ToFloat64(dec(d, int(places)))), nil
		}
		if places >= 0 {
			return v, nil
		}
		n, _ := v.Int64()
		n, ok := decimal.ToInt64(dec(decimal.FromInt64(n), int(places)), decimal.HalfEven)
		switch {
		case !ok:
			return v, mongoerr.New(51080, "invalid conversion from Decimal128 result in %s resulting from arguments: [%s, %d]", op, show(v), places)
		case v.Type == bson.TypeInt64:
			return s.Int64(n), nil
		}
		return s.Int(n), nil
	}
}

func placesOf(op string, v bson.Value) (int64, error) {
	if !v.IsNumber() {
		return 0, mongoerr.New(16004, "can't convert from BSON type %s to long", v.Type)
	}
	if f, ok := v.Double(); ok && (f != f || f >= 1<<63 || f < -1<<63) {
		return 0, mongoerr.New(31109, "Can't coerce out of range value %s to long", show(v))
	}
	n, ok := v.AsInt64()
	if !ok {
		return 0, mongoerr.New(51082, "precision argument to  %s must be a integral value", op)
	}
	if n < -20 || n > 100 {
		return 0, mongoerr.New(51083, "cannot apply %s with precision value %d value must be in [-20, 100]", op, n)
	}
	return n, nil
}
