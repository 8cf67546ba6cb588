package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// trig returns the function of a trigonometric operator, computed by double and dec; interval is the text of
// its domain in error messages.
func trig(op string, double func(float64) float64, dec func(bson.Decimal128) bson.Decimal128, domain func(float64) bool, interval string) function {
	return analytic{op: op, double: double, dec: dec, domain: domain, code: 50989,
		text: "cannot apply " + op + " to %s, value must be in " + interval}.eval
}

func finite(f float64) bool     { return !math.IsInf(f, 0) }
func withinOne(f float64) bool  { return f >= -1 && f <= 1 }
func atLeastOne(f float64) bool { return f >= 1 }
func anything(float64) bool     { return true }

func degrees(f float64) float64 { return f * (180 / math.Pi) }
func radians(f float64) float64 { return f * (math.Pi / 180) }

// atan2 is $atan2: y, x.
func atan2(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	y, x := a[0], a[1]
	if y.IsNullish() || x.IsNullish() {
		return bson.Null, nil
	}
	for i, v := range a {
		if !v.IsNumber() {
			return v, mongoerr.New(mongoerr.Code(51044+i), "$atan2 only supports numeric types, not %s", v.Type)
		}
	}
	if y.Type == bson.TypeDecimal128 || x.Type == bson.TypeDecimal128 {
		return s.Decimal(decimal.Atan2(toDecimal(y), toDecimal(x))), nil
	}
	f, _ := y.AsFloat()
	g, _ := x.AsFloat()
	return s.Double(exactAtan2(f, g)), nil
}
