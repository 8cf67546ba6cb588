package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// Remove subtracts a number that was added, when it leaves a moving window. For infinities and NaN this is
// impossible: Remove returns false and changes nothing. The type of the sum does not become narrower.
func (t *Summation) Remove(v bson.Value) bool {
	if !v.IsNumber() {
		return true
	}
	if f, _ := v.AsFloat(); f != f || math.IsInf(f, 0) {
		return false
	}
	special := t.special
	switch v.Type {
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		t.decimal = decimal.Sub(t.decimal, d)
	case bson.TypeDouble:
		f, _ := v.Double()
		t.addDouble(-f)
	default:
		n, _ := v.Int64()
		high := n / (1 << 32) * (1 << 32)
		t.addDouble(-float64(n - high))
		t.addDouble(-float64(high))
	}
	t.special = special
	if t.count--; t.count == 0 {
		*t = Summation{widest: t.widest}
	}
	return true
}
