package decimal

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// Decimal is the type of all arguments and results of this package, an alias.
type Decimal = bson.Decimal128

// digitsMax is the precision of decimal128.
const digitsMax = 34

// FromInt64 returns n with exponent 0.
func FromInt64(n int64) Decimal {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	return bson.ComposeDecimal(n < 0, 0, u, 0)
}

// FromFloat64 converts a double as $toDecimal and mixed arithmetic do: it is rounded to exactly 15 significant
// digits, and trailing zeros are kept (2.5 gives 2.50000000000000); zero has no digits but its sign.
// Manual: reference/operator/aggregation/toDecimal.
func FromFloat64(f float64) Decimal {
	switch {
	case f != f:
		return bson.DecimalNaNValue
	case f == 0:
		return bson.ComposeDecimal(math.Signbit(f), 0, 0, 0)
	case math.IsInf(f, 1):
		return bson.DecimalInfValue
	case math.IsInf(f, -1):
		return bson.DecimalNegInfValue
	}
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], math.Abs(f), 'e', 14, 64) // d.dddddddddddddde±dd
	n := uint64(s[0] - '0')
	for _, c := range s[2:16] {
		n = n*10 + uint64(c-'0')
	}
	exp, _ := strconv.Atoi(string(s[17:]))
	return bson.ComposeDecimal(f < 0, 0, n, exp-14)
}

// FromValue converts any number; ok is false for other types.
func FromValue(v bson.Value) (d Decimal, ok bool) {
	if d, ok = v.Decimal(); ok {
		return d, true
	}
	if n, ok := v.Int64(); ok {
		return FromInt64(n), true
	}
	f, ok := v.Double()
	return FromFloat64(f), ok
}

// ToFloat64 returns the double nearest to a decimal; infinity for a decimal that is too large.
func ToFloat64(d Decimal) float64 {
	f, _ := strconv.ParseFloat(d.String(), 64)
	return f
}

// ToInt64 rounds a decimal to an integer in the way r; ok is false for NaN, infinities and numbers that do not fit.
func ToInt64(d Decimal, r Rounding) (n int64, ok bool) {
	neg, hi, lo, exp, kind := d.Decompose()
	if kind != bson.DecimalFinite {
		return 0, false
	}
	if hi == 0 && exp == 0 && lo <= math.MaxInt64 {
		if neg {
			return -int64(lo), true
		}
		return int64(lo), true
	}
	c := coefficient(hi, lo)
	switch {
	case c.Sign() == 0:
		return 0, true
	case exp > 19:
		return 0, false
	case exp > 0:
		c.Mul(c, pow10(exp))
	default:
		shorten(c, -exp, r, neg, false)
	}
	if neg {
		c.Neg(c)
	}
	return c.Int64(), c.IsInt64()
}

// Parse parses the text of a decimal: "12.5", "-1E+3", "Infinity", "-inf", "NaN", in any letter case. More than 34
// digits are rounded, exponents beyond the range overflow or underflow. ok is false for any other text.
func Parse(s string) (d Decimal, ok bool) {
	t := s
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	switch strings.ToLower(t) {
	case "nan":
		return bson.DecimalNaNValue, true
	case "inf", "infinity":
		return infinity(neg), true
	}
	mantissa, exponent, hasExp := t, "", false
	if i := strings.IndexAny(t, "eE"); i >= 0 {
		mantissa, exponent, hasExp = t[:i], t[i+1:], true
	}
	exp := 0
	if hasExp {
		n, err := strconv.ParseInt(exponent, 10, 64)
		if errors.Is(err, strconv.ErrSyntax) {
			return d, false
		}
		exp = int(max(-1<<30, min(1<<30, n))) // ParseInt saturates a number out of range
	}
	var digits []byte
	sticky, seen, point := false, false, false
	for i := range len(mantissa) {
		c := mantissa[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return d, false
		}
		seen = true
		switch {
		case len(digits) == 0 && c == '0':
			if point {
				exp--
			}
		case len(digits) < 2*digitsMax:
			digits = append(digits, c)
			if point {
				exp--
			}
		default: // further digits only break ties
			sticky = sticky || c != '0'
			if !point {
				exp++
			}
		}
	}
	if !seen {
		return d, false
	}
	c := new(big.Int)
	if len(digits) > 0 {
		c.SetString(string(digits), 10)
	}
	return round(neg, c, exp, exp, sticky), true
}
