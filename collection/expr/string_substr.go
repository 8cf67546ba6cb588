package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// substrBytes is $substrBytes and its old name $substr.
func substrBytes(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	t, err := textOf(a[0])
	if err != nil {
		return a[0], err
	}
	if !a[1].IsNumber() {
		return a[1], mongoerr.New(16034, "$substrBytes: starting index must be a numeric type (is BSON type %s)", a[1].Type)
	}
	if !a[2].IsNumber() {
		return a[2], mongoerr.New(16035, "$substrBytes: length must be a numeric type (is BSON type %s)", a[2].Type)
	}
	start, err := truncInt64(a[1])
	if err != nil {
		return a[1], err
	}
	length, err := truncInt64(a[2])
	if err != nil {
		return a[2], err
	}
	if start < 0 {
		return a[1], mongoerr.New(50752, "$substrBytes: starting index must be non-negative (got: %d)", start)
	}
	n := int64(len(t))
	if length < 0 || length > n {
		length = n
	}
	if start < n && t[start]&0xc0 == 0x80 {
		return a[0], mongoerr.New(28656, "$substrBytes: Invalid range, starting index is a UTF-8 continuation byte.")
	}
	if start >= n {
		return s.String(""), nil
	}
	end := min(n, start+length)
	if end < n && t[end]&0xc0 == 0x80 {
		return a[0], mongoerr.New(28657, "$substrBytes: Invalid range, ending index is in the middle of a UTF-8 character.")
	}
	return s.StringBytes(t[start:end]), nil
}

// truncInt64 converts a number to an int64 for $substrBytes, which truncates doubles and rounds decimals half to
// even. A decimal outside the range becomes the smallest int64.
//
// Errors: 31109 if a double is outside the range.
func truncInt64(v bson.Value) (int64, error) {
	if f, _ := v.AsFloat(); f != f || f >= 1<<63 || f < -1<<63 {
		switch v.Type {
		case bson.TypeDouble:
			return 0, mongoerr.New(31109, "Can't coerce out of range value %s to long", show(v))
		case bson.TypeDecimal128: // converts to the integer that marks an invalid conversion
			return math.MinInt64, nil
		}
	}
	if d, ok := v.Decimal(); ok {
		n, _ := decimal.ToInt64(d, decimal.HalfEven)
		return n, nil
	}
	n, _ := v.TruncInt64()
	return n, nil
}

// substrCP is $substrCP.
func substrCP(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	t, err := textOf(a[0])
	if err != nil {
		return a[0], err
	}
	if !a[1].IsNumber() {
		return a[1], mongoerr.New(34450, "$substrCP: starting index must be a numeric type (is BSON type %s)", a[1].Type)
	}
	start, ok := asInt32(a[1])
	if !ok {
		return a[1], mongoerr.New(34451, "$substrCP: starting index cannot be represented as a 32-bit integral value: %s", show(a[1]))
	}
	if !a[2].IsNumber() {
		return a[2], mongoerr.New(34452, "$substrCP: length must be a numeric type (is BSON type %s)", a[2].Type)
	}
	length, ok := asInt32(a[2])
	if !ok {
		return a[2], mongoerr.New(34453, "$substrCP: length cannot be represented as a 32-bit integral value: %s", show(a[2]))
	}
	if length < 0 {
		return a[2], mongoerr.New(34454, "$substrCP: length must be a nonnegative integer.")
	}
	if start < 0 {
		return a[1], mongoerr.New(34455, "$substrCP: the starting index must be nonnegative integer.")
	}
	t = t[byteOffset(t, int(start)):]
	return s.StringBytes(t[:byteOffset(t, int(length))]), nil
}
