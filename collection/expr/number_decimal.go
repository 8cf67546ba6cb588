package expr

import "github.com/cantledb/cantle/bson"

func decimalFromInt64(n int64) bson.Decimal128 {
	neg := n < 0
	u := uint64(n)
	if neg {
		u = -u
	}
	return bson.ComposeDecimal(neg, 0, u, 0)
}
func decimalFromDouble(f float64) bson.Decimal128            { return bson.DecimalNaNValue }
func decimalAdd(a, b bson.Decimal128) bson.Decimal128        { return bson.DecimalNaNValue }
func decimalSub(a, b bson.Decimal128) bson.Decimal128        { return bson.DecimalNaNValue }
func decimalMul(a, b bson.Decimal128) bson.Decimal128        { return bson.DecimalNaNValue }
func decimalRoundInt64(d bson.Decimal128) (n int64, ok bool) { return 0, false }
