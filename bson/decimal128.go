package bson

import (
	"errors"
	"math/big"
	"math/bits"

	driver "go.mongodb.org/mongo-driver/v2/bson"
)

// Decimal128 holds the 128 bits of an IEEE 754-2008 decimal in the binary integer encoding that BSON uses.
// bson/decimal has the arithmetic; this file has the functions for comparison and key encoding.
type Decimal128 struct{ Hi, Lo uint64 }

// DecimalKind is the kind of a Decimal128.
type DecimalKind uint8

// The kinds.
const (
	DecimalFinite DecimalKind = iota
	DecimalInfinity
	DecimalNaN
)

// Exponent range of finite decimals: value = ±coefficient × 10^exponent.
const (
	DecimalMinExponent = -6176
	DecimalMaxExponent = 6111
)

// ErrDecimal marks text that is not a decimal.
var ErrDecimal = errors.New("not a decimal number")

// ParseDecimal parses the text form ("1.5", "-Infinity", "NaN", "1E+3").
// Errors: ErrDecimal.
func ParseDecimal(s string) (Decimal128, error) {
	d, err := driver.ParseDecimal128(s)
	if err != nil {
		return Decimal128{}, ErrDecimal
	}
	hi, lo := d.GetBytes()
	return Decimal128{hi, lo}, nil
}

// String returns the text form defined by the BSON decimal specification. A decimal that is not
// canonical is printed as the zero that it represents.
func (d Decimal128) String() string {
	if neg, hi, lo, exp, kind := d.Decompose(); kind == DecimalFinite {
		d = ComposeDecimal(neg, hi, lo, exp)
	}
	return driver.NewDecimal128(d.Hi, d.Lo).String()
}

// Decompose returns the sign, the 128-bit coefficient hi:lo and the exponent of d. Coefficients beyond 10^34-1 (not
// canonical) count as zero, as the specification requires.
func (d Decimal128) Decompose() (neg bool, hi, lo uint64, exp int, kind DecimalKind) {
	neg = d.Hi>>63 != 0
	switch {
	case d.Hi>>58&0x1f == 0x1f:
		return neg, 0, 0, 0, DecimalNaN
	case d.Hi>>58&0x1f == 0x1e:
		return neg, 0, 0, 0, DecimalInfinity
	case d.Hi>>61&3 == 3: // large coefficient form: always above 10^34-1
		return neg, 0, 0, int(d.Hi>>47&0x3fff) + DecimalMinExponent, DecimalFinite
	}
	exp = int(d.Hi>>49&0x3fff) + DecimalMinExponent
	hi, lo = d.Hi&(1<<49-1), d.Lo
	if hi > maxCoefHi || hi == maxCoefHi && lo > maxCoefLo {
		hi, lo = 0, 0
	}
	return neg, hi, lo, exp, DecimalFinite
}

// 10^34 - 1.
const (
	maxCoefHi = 0x1ed09bead87c0
	maxCoefLo = 0x378d8e63ffffffff
)

// ComposeDecimal returns the finite decimal with a sign, a coefficient hi:lo and an exponent, the inverse of
// Decompose. The coefficient must be below 10^34 and the exponent in range.
func ComposeDecimal(neg bool, hi, lo uint64, exp int) Decimal128 {
	h := uint64(exp-DecimalMinExponent)<<49 | hi
	if neg {
		h |= 1 << 63
	}
	return Decimal128{h, lo}
}

// The special decimals.
var (
	DecimalNaNValue    = Decimal128{Hi: 0x7c00000000000000}
	DecimalInfValue    = Decimal128{Hi: 0x7800000000000000}
	DecimalNegInfValue = Decimal128{Hi: 0xf800000000000000}
)

// IsNaN reports whether d is not a number.
func (d Decimal128) IsNaN() bool { return d.Hi>>58&0x1f == 0x1f }

// IsInf reports whether d is an infinity of either sign.
func (d Decimal128) IsInf() bool { return d.Hi>>58&0x1f == 0x1e }

// IsZero reports whether d is a zero of either sign and any exponent.
func (d Decimal128) IsZero() bool {
	_, hi, lo, _, kind := d.Decompose()
	return kind == DecimalFinite && hi == 0 && lo == 0
}

// Coefficient returns the coefficient as a big integer.
func (d Decimal128) Coefficient() *big.Int {
	_, hi, lo, _, _ := d.Decompose()
	c := new(big.Int).SetUint64(hi)
	return c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(lo))
}

// Rat returns the exact value of a finite decimal. It is slow, as numerator or denominator may have thousands of
// digits (up to 10^6176).
func (d Decimal128) Rat() *big.Rat {
	neg, _, _, exp, _ := d.Decompose()
	c := d.Coefficient()
	if neg {
		c.Neg(c)
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	if exp >= 0 {
		return new(big.Rat).SetInt(c.Mul(c, p))
	}
	return new(big.Rat).SetFrac(c, p)
}

// asInt64 returns the value of a decimal with exponent 0 to 18 if its absolute value is at most 2^62. This is the
// common case in comparisons.
func (d Decimal128) asInt64() (int64, bool) {
	neg, hi, lo, exp, kind := d.Decompose()
	if kind != DecimalFinite || hi != 0 || exp < 0 || exp > 18 {
		return 0, false
	}
	for ; exp > 0; exp-- {
		over, l := bits.Mul64(lo, 10)
		if over != 0 {
			return 0, false
		}
		lo = l
	}
	if lo > 1<<62 {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}
