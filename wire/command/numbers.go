package command

import (
	"math"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// LongArg reads a number as an integer: doubles lose their fraction, decimals
// are rounded half to even, NaN is 0, what is too large is clamped.
// Observed: mongod 8.0, arguments of type safeInt64. Errors: TypeMismatch (14).
func (c *Call) LongArg(name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 0, nil
	}
	n, ok := RoundedLong(v)
	if !ok {
		return 0, mongoerr.WrongType(c.Field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	return n, nil
}

// RoundedLong is longArg's conversion; ok is false for what is no number.
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

// EnumArg reads a string that must be one of the given ones.
// Errors: TypeMismatch (14), BadValue (2).
func (c *Call) EnumArg(name string, v bson.Value, allowed ...string) (string, error) {
	s, err := c.StringArg(name, v)
	if err != nil || v.IsMissing() {
		return s, err
	}
	for _, a := range allowed {
		if s == a {
			return s, nil
		}
	}
	return "", mongoerr.BadEnum(c.Field(name), s)
}

// EachField visits the fields of an argument document: null ones as missing
// Errors: IDLUnknownField (40415), IDLDuplicateField (40413), those of fn.
func EachField(d bson.Raw, field string, fn func(name string, v bson.Value) (known bool, err error)) error {
	var seen []string
	for it := d.Iter(); it.Next(); {
		name := intern(it.Name)
		for _, s := range seen {
			if s == name {
				return mongoerr.RepeatedField(field + "." + name)
			}
		}
		seen = append(seen, name)
		v := it.Value
		if v.Type == bson.TypeNull || v.Type == bson.TypeUndefined {
			v = bson.Value{}
		}
		known, err := fn(name, v)
		if !known {
			return mongoerr.UnknownField(field + "." + name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// InMillis is a duration in milliseconds.
func InMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// SumOf adds up a counter over a tree of stages.
func SumOf(d bson.Raw, name string) (n int64) {
	for it := d.Iter(); it.Next(); {
		if string(it.Name) == name {
			v, _ := it.Value.Int64()
			n += v
			continue
		}
		switch string(it.Name) {
		case "filter", "indexBounds", "transformBy", "parsedQuery":
			continue
		}
		if inner, ok := it.Value.Doc(); ok {
			n += SumOf(inner, name)
		} else if list, ok := it.Value.Array(); ok {
			n += SumOf(list, name)
		}
	}
	return n
}
