package decimal

import (
	"math/big"

	"github.com/cantledb/cantle/bson"
)

// Beyond these arguments e^x is infinite or zero in decimal128.
const (
	expMost  = 14_200
	expLeast = -14_300
)

// Exp returns e^d. Manual: reference/operator/aggregation/exp.
func Exp(d Decimal) Decimal {
	switch {
	case d.IsNaN():
		return bson.DecimalNaNValue
	case d.IsInf():
		if d.Hi>>63 != 0 {
			return bson.ComposeDecimal(false, 0, 0, 0)
		}
		return bson.DecimalInfValue
	case Cmp(d, FromInt64(expMost)) > 0:
		return bson.DecimalInfValue
	case Cmp(d, FromInt64(expLeast)) < 0:
		return bson.ComposeDecimal(false, 0, 0, bson.DecimalMinExponent)
	}
	return fromFloat(expFloat(toFloat(d)), true)
}

// Ln returns the natural logarithm: -Infinity for zero, NaN for negative numbers.
func Ln(d Decimal) Decimal { return logarithm(d, false) }

// Log10 returns the decimal logarithm, like Ln.
func Log10(d Decimal) Decimal { return logarithm(d, true) }

func logarithm(d Decimal, ten bool) Decimal {
	neg := d.Hi>>63 != 0
	switch {
	case d.IsNaN():
		return bson.DecimalNaNValue
	case d.IsZero():
		return bson.DecimalNegInfValue
	case neg:
		return bson.DecimalNaNValue
	case d.IsInf():
		return d
	}
	r := lnFloat(toFloat(d))
	if ten {
		r.Quo(r, ln10())
	}
	return fromFloat(r, true)
}

// Log returns the logarithm of d to a base: the quotient of two natural logarithms, each rounded first. This is the
// result of MongoDB, including Log(64, 2) = 5.999999999999999999999999999999999.
func Log(d, base Decimal) Decimal { return Quo(Ln(d), Ln(base)) }

// Pow returns d to the power of e, like MongoDB: a computed result has all 34 digits (2^2 is 4.000…), but x^0 and 1^x
// are 1. A negative finite d needs a whole or infinite exponent, else the result is NaN. Manual:
// reference/operator/aggregation/pow.
func Pow(d, e Decimal) Decimal {
	zero := bson.ComposeDecimal(false, 0, 0, bson.DecimalMinExponent)
	switch {
	case d.IsNaN() || e.IsNaN():
		return bson.DecimalNaNValue
	case e.IsZero() || Cmp(d, FromInt64(1)) == 0:
		return FromInt64(1)
	}
	whole, odd := integral(e)
	neg := d.Hi>>63 != 0 && odd
	less := e.Hi>>63 != 0 // a negative exponent
	switch {
	case d.IsZero():
		if less {
			return infinity(neg)
		}
		return zero
	case d.IsInf():
		if less {
			return zero
		}
		return infinity(neg)
	case e.IsInf():
		switch c := Cmp(Abs(d), FromInt64(1)); {
		case c == 0:
			return FromInt64(1)
		case c > 0 != less:
			return bson.DecimalInfValue
		}
		return zero
	case d.Hi>>63 != 0 && !whole:
		return bson.DecimalNaNValue
	}
	x := lnFloat(toFloat(Abs(d)))
	x.Mul(x, toFloat(e))
	switch {
	case x.Cmp(fromInt(expMost)) > 0:
		return infinity(neg)
	case x.Cmp(fromInt(expLeast)) < 0:
		return zero
	}
	r := fromFloat(expFloat(x), false)
	if r.IsZero() {
		return zero
	}
	// In MongoDB, the largest decimal raised to the power of one is infinite, and so it is here.
	if _, hi, lo, exp, _ := r.Decompose(); exp == bson.DecimalMaxExponent && coefficient(hi, lo).Cmp(nines) == 0 {
		return infinity(neg)
	}
	if neg {
		r = Neg(r)
	}
	return r
}

var nines = new(big.Int).Sub(powers[digitsMax], powers[0])

// integral reports whether a decimal is a whole number, and whether it is odd; infinities and NaN count as whole and
// even.
func integral(d Decimal) (whole, odd bool) {
	_, hi, lo, exp, kind := d.Decompose()
	switch {
	case kind != bson.DecimalFinite:
		return true, false
	case exp > 0:
		return true, false
	case exp < -digitsMax:
		return hi|lo == 0, false
	}
	c := coefficient(hi, lo)
	if shorten(c, -exp, Down, false, false) {
		return false, false
	}
	return true, c.Bit(0) != 0
}
