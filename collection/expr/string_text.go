package expr

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// textOf returns a value as text for the older string operators, such as $toUpper: strings, symbols and code are
// unchanged, null and missing become "", numbers, dates and timestamps are printed.
//
// Errors: 16007 for other types.
func textOf(v bson.Value) ([]byte, error) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		t, _ := v.Text()
		return t, nil
	case bson.TypeMissing, bson.TypeNull, bson.TypeUndefined:
		return nil, nil
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128, bson.TypeDateTime:
		if f, ok := v.Double(); ok { // six digits, as a C++ stream prints it
			t := strconv.AppendFloat(nil, f, 'g', 6, 64)
			if f != f || math.IsInf(f, 0) {
				t = bytes.TrimPrefix(bytes.ToLower(t), []byte("+"))
			}
			return t, nil
		}
		return appendText(nil, v), nil
	case bson.TypeCode:
		c, _ := v.Code()
		return []byte(c), nil
	case bson.TypeTimestamp:
		sec, inc, _ := v.Timestamp()
		t := time.Unix(int64(sec), 0).UTC()
		return []byte(t.Format("Jan _2 15:04:05") + ":" + strconv.FormatUint(uint64(inc), 10)), nil
	}
	return nil, mongoerr.New(16007, "can't convert from BSON type %s to String", v.Type)
}

// appendText appends the text of a number or a date, as conversions to string have it.
func appendText(dst []byte, v bson.Value) []byte {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		return strconv.AppendInt(dst, n, 10)
	case bson.TypeDouble:
		f, _ := v.Double()
		return appendDouble(dst, f)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		return append(dst, d.String()...)
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		return appendISO(dst, ms)
	}
	return dst
}

// appendDouble appends the shortest text that parses as the double f. Exponents have at least two digits.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f != f:
		return append(dst, "NaN"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}
