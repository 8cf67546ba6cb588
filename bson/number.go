package bson

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
)

// CompareNumbers compares two numbers of any numeric types by exact value. NaN is less than all other
// numbers and equal to itself; -0 equals 0.
// Manual: reference/bson-type-comparison-order#numeric-types.
func CompareNumbers(a, b Value) int {
	x, xok := a.Int64()
	y, yok := b.Int64()
	switch {
	case xok && yok:
		return cmp.Compare(x, y)
	case a.Type == TypeDecimal128 || b.Type == TypeDecimal128:
		return compareDecimals(a, b)
	case xok:
		f, _ := b.Double()
		return -compareDoubleInt(f, x)
	case yok:
		f, _ := a.Double()
		return compareDoubleInt(f, y)
	}
	f, _ := a.Double()
	g, _ := b.Double()
	return cmp.Compare(f, g) // cmp.Compare sorts NaN first and -0 equal to 0
}

// compareDoubleInt compares without rounding the integer to a double.
func compareDoubleInt(f float64, n int64) int {
	switch {
	case f != f:
		return -1
	case f >= 1<<63:
		return 1
	case f < -1<<63:
		return -1
	}
	t := math.Trunc(f)
	if c := cmp.Compare(int64(t), n); c != 0 {
		return c
	}
	return cmp.Compare(f, t)
}

func compareDecimals(a, b Value) int {
	x, y := decimalRank(a), decimalRank(b)
	if x != y || x != rankNegative && x != rankPositive {
		return cmp.Compare(x, y)
	}
	if n, ok := smallInt(a); ok {
		if m, ok := smallInt(b); ok {
			return cmp.Compare(n, m)
		}
	}
	if c, ok := compareScaled(a, b); ok {
		if x == rankNegative {
			c = -c
		}
		return c
	}
	// Exponents that are far apart decide the comparison, without building huge integers.
	if ma, mb := magnitude(a), magnitude(b); ma > mb+1 || mb > ma+1 {
		if x == rankNegative {
			return cmp.Compare(mb, ma)
		}
		return cmp.Compare(ma, mb)
	}
	return exact(a).Cmp(exact(b))
}

// compareScaled compares the absolute values of a and b in 128 bits; ok is false unless scaled64 accepts both and
// their exponents are at most 19 apart.
func compareScaled(a, b Value) (c int, ok bool) {
	x, xe, ok1 := scaled64(a)
	y, ye, ok2 := scaled64(b)
	if !ok1 || !ok2 || xe-ye > 19 || ye-xe > 19 {
		return 0, false
	}
	var xh, yh uint64
	if xe > ye {
		xh, x = bits.Mul64(x, pow10u64[xe-ye])
	} else {
		yh, y = bits.Mul64(y, pow10u64[ye-xe])
	}
	if xh != yh {
		return cmp.Compare(xh, yh), true
	}
	return cmp.Compare(x, y), true
}

// scaled64 returns the absolute value of v as n × 10^exp; ok is false if n does not fit into 64 bits, and for doubles
// with a fraction or of 2^53 or more.
func scaled64(v Value) (n uint64, exp int, ok bool) {
	switch v.Type {
	case TypeDecimal128:
		d, _ := v.Decimal()
		_, hi, lo, exp, _ := d.Decompose()
		return lo, exp, hi == 0
	case TypeDouble:
		f, _ := v.Double()
		if f = math.Abs(f); f < 1<<53 && f == math.Trunc(f) {
			return uint64(f), 0, true
		}
		return 0, 0, false
	}
	i, _ := v.Int64()
	if i < 0 {
		return -uint64(i), 0, true
	}
	return uint64(i), 0, true
}

var pow10u64 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// The order of numbers by kind; zero is its own kind.
const (
	rankNaN = iota
	rankNegInf
	rankNegative
	rankZero
	rankPositive
	rankInf
)

func decimalRank(v Value) int {
	switch v.Type {
	case TypeDecimal128:
		d, _ := v.Decimal()
		neg, hi, lo, _, kind := d.Decompose()
		switch {
		case kind == DecimalNaN:
			return rankNaN
		case kind == DecimalInfinity && neg:
			return rankNegInf
		case kind == DecimalInfinity:
			return rankInf
		case hi == 0 && lo == 0:
			return rankZero
		case neg:
			return rankNegative
		}
		return rankPositive
	case TypeDouble:
		f, _ := v.Double()
		switch {
		case f != f:
			return rankNaN
		case math.IsInf(f, -1):
			return rankNegInf
		case math.IsInf(f, 1):
			return rankInf
		case f == 0:
			return rankZero
		case f < 0:
			return rankNegative
		}
		return rankPositive
	}
	n, _ := v.Int64()
	return rankZero + cmp.Compare(n, 0)
}

// magnitude returns log10 of the absolute value of a finite number other than zero, with an error of at most one.
func magnitude(v Value) int {
	switch v.Type {
	case TypeDecimal128:
		d, _ := v.Decimal()
		_, hi, lo, exp, _ := d.Decompose()
		f := float64(hi)*math.Exp2(64) + float64(lo)
		return exp + int(math.Floor(math.Log10(f)))
	case TypeDouble:
		f, _ := v.Double()
		m, e := math.Frexp(math.Abs(f)) // Log10 is inaccurate for subnormal numbers
		return int(math.Floor(math.Log10(m) + float64(e)*(math.Ln2/math.Ln10)))
	}
	n, _ := v.Int64()
	return int(math.Floor(math.Log10(math.Abs(float64(n)))))
}

func smallInt(v Value) (int64, bool) {
	if d, ok := v.Decimal(); ok {
		return d.asInt64()
	}
	return v.Int64()
}

func exact(v Value) *big.Rat {
	switch v.Type {
	case TypeDecimal128:
		d, _ := v.Decimal()
		return d.Rat()
	case TypeDouble:
		f, _ := v.Double()
		return new(big.Rat).SetFloat64(f)
	}
	n, _ := v.Int64()
	return new(big.Rat).SetInt64(n)
}

// AsFloat converts any number to the nearest double.
func (v Value) AsFloat() (float64, bool) {
	switch v.Type {
	case TypeDouble:
		return v.Double()
	case TypeInt32, TypeInt64:
		n, _ := v.Int64()
		return float64(n), true
	case TypeDecimal128:
		switch decimalRank(v) {
		case rankNaN:
			return math.NaN(), true
		case rankInf:
			return math.Inf(1), true
		case rankNegInf:
			return math.Inf(-1), true
		case rankZero:
			return 0, true
		}
		switch m := magnitude(v); { // keep Rat's powers of ten small
		case m > 310:
			return math.Inf(decimalRank(v) - rankZero), true
		case m < -330:
			return math.Copysign(0, float64(decimalRank(v)-rankZero)), true
		}
		f, _ := exact(v).Float64()
		return f, true
	}
	return 0, false
}

// AsInt64 returns the value of a number without fraction inside the int64 range; ok is false for other numbers (with
// fractions, NaN, too large) and for non-numbers.
func (v Value) AsInt64() (n int64, ok bool) {
	switch v.Type {
	case TypeInt32, TypeInt64:
		return v.Int64()
	case TypeDouble:
		f, _ := v.Double()
		if f != math.Trunc(f) || f >= 1<<63 || f < -1<<63 {
			return 0, false
		}
		return int64(f), true
	case TypeDecimal128:
		d, _ := v.Decimal()
		if n, ok := d.asInt64(); ok {
			return n, true
		}
		if rank := decimalRank(v); rank == rankZero {
			return 0, true
		} else if rank != rankNegative && rank != rankPositive {
			return 0, false
		}
		if m := magnitude(v); m > 19 || m < -1 {
			return 0, false
		}
		r := exact(v)
		if !r.IsInt() || !r.Num().IsInt64() {
			return 0, false
		}
		return r.Num().Int64(), true
	}
	return 0, false
}

// TruncInt64 returns the integer part of a number. Values outside of the int64 range become its least or greatest
// value, NaN becomes 0. ok is false for non-numbers.
func (v Value) TruncInt64() (n int64, ok bool) {
	if n, ok = v.AsInt64(); ok {
		return n, true
	}
	if v.Type == TypeDecimal128 && decimalRank(v) != rankNaN {
		// Not through a double, which would round numbers near the limits.
		if r := decimalRank(v); (r == rankNegative || r == rankPositive) && magnitude(v) < 21 {
			if magnitude(v) < -1 {
				return 0, true
			}
			x := exact(v)
			if q := new(big.Int).Quo(x.Num(), x.Denom()); q.IsInt64() {
				return q.Int64(), true
			}
		}
	}
	f, ok := v.AsFloat()
	switch {
	case !ok || f != f:
		return 0, ok
	case f >= 1<<63:
		return math.MaxInt64, true
	case f < -1<<63:
		return math.MinInt64, true
	}
	return int64(f), true
}
