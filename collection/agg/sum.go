package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// total is an exact sum of numbers of all types: integers in an int64 as long
// as they fit, doubles as an unevaluated sum of two, decimals as a decimal. The
// zero total is 0.
// Manual: reference/operator/aggregation/sum#data-types.
type total struct {
	n       int64
	f       twofold
	d       decimal.Decimal
	widest  uint8 // the widest type added: 0 none or int32, 1 int64, 2 double, 3 decimal
	decimal bool  // d is in use
}

// add adds a number and reports whether v is one.
func (t *total) add(v bson.Value) bool {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		t.addInt(n)
		if v.Type == bson.TypeInt64 {
			t.widest = max(t.widest, 1)
		}
	case bson.TypeDouble:
		f, _ := v.Double()
		t.f.add(f)
		t.widest = max(t.widest, 2)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		if !t.decimal {
			t.d, t.decimal = d, true
		} else {
			t.d = decimal.Add(t.d, d)
		}
		t.widest = 3
	default:
		return false
	}
	return true
}

func (t *total) addInt(n int64) {
	sum := t.n + n
	if (sum > t.n) != (n > 0) && n != 0 {
		t.f.addInt(t.n)
		sum = n
	}
	t.n = sum
}

// sub takes away a number that was added. The type stays as wide as it was.
func (t *total) sub(v bson.Value) {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		if n == math.MinInt64 {
			t.f.addInt(math.MaxInt64)
			n = -1
		}
		t.addInt(-n)
	case bson.TypeDouble:
		f, _ := v.Double()
		t.f.add(-f)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		t.d = decimal.Sub(t.d, d)
	}
}

// merge adds another total.
func (t *total) merge(o *total) {
	t.addInt(o.n)
	t.f.add(o.f.hi)
	t.f.add(o.f.lo)
	if o.decimal {
		if t.decimal {
			t.d = decimal.Add(t.d, o.d)
		} else {
			t.d, t.decimal = o.d, true
		}
	}
	t.widest = max(t.widest, o.widest)
}

// value is the sum in the widest type of what was added; an integer that does
// not fit becomes a double.
func (t *total) value(a *bson.Arena) bson.Value {
	switch t.widest {
	case 3:
		return a.Decimal(t.asDecimal())
	case 2:
		return a.Double(t.asFloat())
	}
	n, ok := t.asInt()
	switch {
	case !ok:
		return a.Double(t.asFloat())
	case t.widest == 1:
		return a.Int64(n)
	}
	return a.Int(n)
}

// asInt is the sum if only integers were added and it fits.
func (t *total) asInt() (int64, bool) {
	if t.f.hi == 0 && t.f.lo == 0 {
		return t.n, true
	}
	f := t.f
	f.addInt(t.n)
	if !(f.hi >= -1<<63 && f.hi <= 1<<63) {
		return 0, false
	}
	// hi and lo are integers here; hi alone may be 2^63.
	if f.hi == 1<<63 {
		if f.lo >= 0 {
			return 0, false
		}
		return math.MaxInt64 + int64(f.lo) + 1, true
	}
	n := int64(f.hi)
	sum := n + int64(f.lo)
	if (sum > n) != (f.lo > 0) && f.lo != 0 {
		return 0, false
	}
	return sum, true
}

// asFloat is the sum without the decimals.
func (t *total) asFloat() float64 {
	f := t.f
	f.addInt(t.n)
	return f.value()
}

// asDecimal is the whole sum.
func (t *total) asDecimal() decimal.Decimal {
	out := t.d
	if !t.decimal {
		out = decimal.FromInt64(0)
	}
	if t.n != 0 || !t.decimal {
		out = decimal.Add(out, decimal.FromInt64(t.n))
	}
	if t.f.used {
		out = decimal.Add(out, decimal.Add(exactDecimal(t.f.value()), exactDecimal(t.f.lo)))
	}
	return out
}

// exactDecimal converts a double to 34 digits.
func exactDecimal(f float64) decimal.Decimal { return decimal.FromFloat64(f) }

// partial appends the total as an array.
func (t *total) partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	b.Int32("", int32(t.widest))
	b.Int64("", t.n)
	if t.f.used || t.decimal {
		b.Double("", t.f.hi)
		b.Double("", t.f.lo)
	}
	if t.decimal {
		var a bson.Arena
		b.Value("", a.Decimal(t.d))
	}
	b.End()
}

// readTotal reads what partial wrote.
func readTotal(v bson.Value) (t total, ok bool) {
	a, ok := v.Array()
	if !ok {
		return t, false
	}
	it := a.Iter()
	for i := 0; it.Next(); i++ {
		switch i {
		case 0:
			n, _ := it.Value.Int64()
			t.widest = uint8(n)
		case 1:
			t.n, _ = it.Value.Int64()
		case 2:
			t.f.hi, _ = it.Value.Double()
			t.f.used = true
		case 3:
			t.f.lo, _ = it.Value.Double()
		case 4:
			t.d, t.decimal = it.Value.Decimal()
		}
	}
	return t, true
}

// twofold is a sum of doubles kept as two doubles, hi the rounded sum and lo
// what the rounding lost.
type twofold struct {
	hi, lo float64
	used   bool
}

// add adds f exactly as long as 106 bits suffice.
func (t *twofold) add(f float64) {
	t.used = true
	sum := t.hi + f
	if math.IsInf(sum, 0) || sum != sum {
		t.hi, t.lo = sum, 0
		return
	}
	z := sum - t.hi
	lost := (t.hi - (sum - z)) + (f - z)
	t.lo += lost
	hi := sum + t.lo
	t.lo -= hi - sum
	t.hi = hi
}

// addInt adds an integer without rounding it first.
func (t *twofold) addInt(n int64) {
	const low = 1<<32 - 1
	t.add(float64(n &^ low))
	t.add(float64(n & low))
}

func (t *twofold) value() float64 { return t.hi + t.lo }
