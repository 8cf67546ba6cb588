package arguments

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// LongArg returns a number of any type as an integer: doubles lose their fraction, decimals are rounded half to even,
// NaN is 0, and numbers out of range become the nearest int64.
// Observed: mongod 8.0, arguments of type safeInt64.
// Errors: TypeMismatch (14).
func (r *Reader) LongArg(name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := RoundedLong(v)
	if !ok {
		return 0, mongoerr.WrongType(r.Field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	return n, nil
}

// RoundedLong converts a number to an integer as LongArg does; ok is false if v is not a number.
func RoundedLong(v bson.Value) (n int64, ok bool) {
	d, isDecimal := v.Decimal()
	if !isDecimal {
		return v.TruncInt64()
	}
	if d.IsNaN() {
		return 0, true
	}
	if n, ok = decimal.ToInt64(d, decimal.HalfEven); ok {
		return n, true
	}
	if neg, _, _, _, _ := d.Decompose(); neg {
		return math.MinInt64, true
	}
	return math.MaxInt64, true
}

// IntArg returns a number of any type as an integer, without its fraction. Errors: TypeMismatch (14).
func (r *Reader) IntArg(name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := v.TruncInt64()
	if !ok {
		return 0, mongoerr.WrongType(r.Field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	return n, nil
}

// AtLeast returns a number as LongArg does, and an error if it is below least; an absent argument is 0 without an
// error. Errors: TypeMismatch (14), Location51024.
func (r *Reader) AtLeast(name string, v bson.Value, least int64) (int64, error) {
	n, err := r.LongArg(name, v)
	if err != nil || v.IsMissing() {
		return n, err
	}
	return n, checkLeast(name, n, least)
}

func checkLeast(name string, n, least int64) error {
	if n < least {
		return mongoerr.New(51024, "BSON field '%s' value must be >= %d, actual value '%d'", name, least, n)
	}
	return nil
}

// Between refuses a number outside [lo, hi]. Errors: BadValue (2).
func Between(name string, n, lo, hi int64) error {
	if n < lo {
		return mongoerr.OutOfRange(name, n, ">=", lo)
	}
	if n > hi {
		return mongoerr.OutOfRange(name, n, "<=", hi)
	}
	return nil
}
