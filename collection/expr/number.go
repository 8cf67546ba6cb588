package expr

import (
	"math"
	"math/bits"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// rank returns the place of a numeric type in the order of promotion: int32 < int64 < double < decimal, from 1
// to 4. It returns 0 for other types.
func rank(t bson.Type) int {
	switch t {
	case bson.TypeInt32:
		return 1
	case bson.TypeInt64:
		return 2
	case bson.TypeDouble:
		return 3
	case bson.TypeDecimal128:
		return 4
	}
	return 0
}

// sum holds the sum of numbers and at most one date, computed with MongoDB's promotion: the result has the
// widest type of the operands; int32 overflows to int64, and int64 to double.
// Manual: reference/operator/aggregation/add.
type sum struct {
	long    int64
	double  float64
	decimal bson.Decimal128
	widest  int // rank
	date    int64
	isDate  bool
}

func (t *sum) add(v bson.Value) error {
	if ms, ok := v.DateTime(); ok {
		if t.isDate {
			return mongoerr.New(16612, "only one date allowed in an $add expression")
		}
		t.isDate, t.date = true, ms
		return nil
	}
	old := t.widest
	n, long := v.Int64()
	if r := rank(v.Type); r > old {
		t.widest = r
		switch {
		case r == 3:
			t.double = float64(t.long)
		case r == 4 && old == 3:
			t.decimal = decimal.FromFloat64(t.double)
		case r == 4:
			t.decimal = decimal.FromInt64(t.long)
		}
	}
	switch t.widest {
	case 1, 2:
		next, ok := AddInt64(t.long, n)
		if !ok {
			t.widest, t.double = 3, float64(t.long)+float64(n)
			return nil
		}
		t.long = next
	case 3:
		if long {
			t.double += float64(n)
		} else {
			f, _ := v.AsFloat()
			t.double += f
		}
	case 4:
		t.decimal = decimal.Add(t.decimal, toDecimal(v))
	}
	return nil
}

func (t *sum) value(a *bson.Arena) (bson.Value, error) {
	if t.isDate {
		ms, ok := t.long, true
		switch t.widest {
		case 3:
			ms, ok = roundAway(t.double)
		case 4:
			ms, ok = decimal.ToInt64(t.decimal, decimal.HalfEven)
		}
		if ok {
			ms, ok = AddInt64(t.date, ms)
		}
		if !ok {
			return bson.Value{}, dateOverflow("$add")
		}
		return a.DateTime(ms), nil
	}
	switch t.widest {
	case 3:
		return a.Double(t.double), nil
	case 4:
		return a.Decimal(t.decimal), nil
	case 2:
		return a.Int64(t.long), nil
	}
	return a.Int(t.long), nil
}

func dateOverflow(op string) error {
	return mongoerr.New(mongoerr.Overflow, "date overflow in %s", op)
}

// roundAway returns f rounded to an int64, a half away from zero; ok is false outside of its range.
func roundAway(f float64) (int64, bool) {
	f = math.Round(f)
	if !(f >= -1<<63 && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// Add adds two numbers, or a number and a date, as $add does.
//
// Errors: TypeMismatch, Overflow for dates, 16612 for two dates.
func Add(a *bson.Arena, x, y bson.Value) (bson.Value, error) {
	t := sum{widest: 1}
	for _, v := range [2]bson.Value{x, y} {
		if !v.IsNumber() && v.Type != bson.TypeDateTime {
			return bson.Value{}, mongoerr.New(mongoerr.TypeMismatch, "$add only supports numeric or date types, not %s", v.Type)
		}
		if err := t.add(v); err != nil {
			return bson.Value{}, err
		}
	}
	return t.value(a)
}

// Subtract returns x - y as $subtract computes it: of two numbers, of a date and milliseconds, or of two dates,
// in milliseconds.
// Manual: reference/operator/aggregation/subtract.
//
// Errors: TypeMismatch, Overflow for dates.
func Subtract(a *bson.Arena, x, y bson.Value) (bson.Value, error) {
	if xd, ok := x.DateTime(); ok {
		var n int64
		switch y.Type {
		case bson.TypeDateTime:
			n, _ = y.DateTime()
		case bson.TypeInt32, bson.TypeInt64:
			n, _ = y.Int64()
		case bson.TypeDouble:
			f, _ := y.Double()
			if n, ok = roundAway(f); !ok {
				return bson.Value{}, dateOverflow("$subtract")
			}
		case bson.TypeDecimal128:
			d, _ := y.Decimal()
			if n, ok = decimal.ToInt64(d, decimal.HalfEven); !ok {
				return bson.Value{}, dateOverflow("$subtract")
			}
		default:
			return bson.Value{}, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from date", y.Type)
		}
		diff := xd - n
		if (diff < xd) != (n > 0) && n != 0 {
			return bson.Value{}, dateOverflow("$subtract")
		}
		if y.Type == bson.TypeDateTime {
			return a.Int64(diff), nil
		}
		return a.DateTime(diff), nil
	}
	r := max(rank(x.Type), rank(y.Type))
	if rank(x.Type) == 0 || rank(y.Type) == 0 {
		return bson.Value{}, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from %s", y.Type, x.Type)
	}
	switch r {
	case 4:
		return a.Decimal(decimal.Sub(toDecimal(x), toDecimal(y))), nil
	case 3:
		f, _ := x.AsFloat()
		g, _ := y.AsFloat()
		return a.Double(f - g), nil
	}
	n, _ := x.Int64()
	m, _ := y.Int64()
	diff := n - m
	if (diff < n) != (m > 0) && m != 0 {
		return a.Double(float64(n) - float64(m)), nil
	}
	if r == 2 {
		return a.Int64(diff), nil
	}
	return a.Int(diff), nil
}

// Multiply returns the product of two numbers, with the promotion of number types that Add has.
// Manual: reference/operator/aggregation/multiply.
//
// Errors: TypeMismatch.
func Multiply(a *bson.Arena, x, y bson.Value) (bson.Value, error) {
	for _, v := range [2]bson.Value{x, y} {
		if !v.IsNumber() {
			return bson.Value{}, mongoerr.New(mongoerr.TypeMismatch, "$multiply only supports numeric types, not %s", v.Type)
		}
	}
	r := max(rank(x.Type), rank(y.Type))
	switch r {
	case 4:
		return a.Decimal(decimal.Mul(toDecimal(x), toDecimal(y))), nil
	case 3:
		f, _ := x.AsFloat()
		g, _ := y.AsFloat()
		return a.Double(f * g), nil
	}
	n, _ := x.Int64()
	m, _ := y.Int64()
	product, ok := MultiplyInt64(n, m)
	switch {
	case !ok:
		return a.Double(float64(n) * float64(m)), nil
	case r == 2:
		return a.Int64(product), nil
	}
	return a.Int(product), nil
}

// AddInt64 adds; ok is false if the sum does not fit.
func AddInt64(x, y int64) (sum int64, ok bool) {
	sum = x + y
	return sum, (sum > x) == (y > 0) || y == 0
}

// MultiplyInt64 multiplies; ok is false if the product does not fit.
func MultiplyInt64(x, y int64) (product int64, ok bool) {
	abs := func(n int64) uint64 {
		if n < 0 {
			return -uint64(n)
		}
		return uint64(n)
	}
	hi, lo := bits.Mul64(abs(x), abs(y))
	if hi != 0 {
		return 0, false
	}
	if (x < 0) != (y < 0) {
		return int64(-lo), lo <= 1<<63
	}
	return int64(lo), lo < 1<<63
}

// toDecimal converts any number; doubles keep 15 significant digits.
func toDecimal(v bson.Value) bson.Decimal128 {
	d, _ := decimal.FromValue(v)
	return d
}
