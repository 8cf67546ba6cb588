package decimal

import (
	"math/big"
	"math/bits"

	"github.com/cantledb/cantle/bson"
)

// far is the difference of two operands' exponents beyond which the smaller operand is less than a unit of the
// larger one extended by guard digits. It then only affects the rounding (sticky).
const (
	guard = digitsMax + 6
	far   = guard + digitsMax
)

// Add returns a + b. An exact sum takes the smaller exponent of the two, or the nearest possible one.
func Add(a, b Decimal) Decimal {
	an, ah, al, ae, ak := a.Decompose()
	bn, bh, bl, be, bk := b.Decompose()
	switch {
	case ak == bson.DecimalNaN || bk == bson.DecimalNaN:
		return bson.DecimalNaNValue
	case ak == bson.DecimalInfinity:
		if bk == bson.DecimalInfinity && an != bn {
			return bson.DecimalNaNValue
		}
		return infinity(an)
	case bk == bson.DecimalInfinity:
		return infinity(bn)
	}
	if ah|bh == 0 {
		if d, ok := addSmall(an, al, ae, bn, bl, be); ok {
			return d
		}
	}
	x, y := coefficient(ah, al), coefficient(bh, bl)
	ideal := min(ae, be)
	if ae < be { // x becomes the one with the larger exponent
		x, y, ae, be, an, bn = y, x, be, ae, bn, an
	}
	sticky := 0
	switch gap := ae - be; {
	case y.Sign() == 0:
		be = ae // contributes only its exponent
	case x.Sign() == 0:
		x.SetInt64(0)
		ae = be
	case gap > far:
		x.Mul(x, pow10(guard))
		ae -= guard
		be, sticky = ae, 1
		y.SetInt64(0)
		if an != bn { // just below x: one unit less, and a sticky rest
			x.Sub(x, powers[0])
		}
	default:
		x.Mul(x, pow10(gap))
		ae = be
	}
	if an {
		x.Neg(x)
	}
	if bn {
		y.Neg(y)
	}
	x.Add(x, y)
	neg := x.Sign() < 0
	if x.Sign() == 0 {
		neg = an && bn // -0 only for two negative zeros
	}
	return round(neg, x.Abs(x), ae, ideal, sticky != 0)
}

// addSmall adds coefficients that fit into 63 bits after alignment.
func addSmall(an bool, al uint64, ae int, bn bool, bl uint64, be int) (d Decimal, ok bool) {
	for ; ae > be && ae-be <= 18; ae-- {
		if al > 1<<62/10 {
			return d, false
		}
		al *= 10
	}
	for ; be > ae && be-ae <= 18; be-- {
		if bl > 1<<62/10 {
			return d, false
		}
		bl *= 10
	}
	if ae != be || (al|bl)>>62 != 0 {
		return d, false
	}
	x, y := int64(al), int64(bl)
	if an {
		x = -x
	}
	if bn {
		y = -y
	}
	s := x + y
	if s == 0 {
		return bson.ComposeDecimal(an && bn, 0, 0, ae), true
	}
	if s < 0 {
		return bson.ComposeDecimal(true, 0, uint64(-s), ae), true
	}
	return bson.ComposeDecimal(false, 0, uint64(s), ae), true
}

// Sub returns a - b.
func Sub(a, b Decimal) Decimal { return Add(a, Neg(b)) }

// Neg inverts the sign, also of zero; NaN stays NaN.
func Neg(d Decimal) Decimal {
	if d.IsNaN() {
		return bson.DecimalNaNValue
	}
	d.Hi ^= 1 << 63
	return d
}

// Abs removes the sign.
func Abs(d Decimal) Decimal {
	if d.IsNaN() {
		return bson.DecimalNaNValue
	}
	d.Hi &^= 1 << 63
	return d
}

// Mul returns a × b. An exact product takes the sum of the two exponents, or the nearest possible one.
func Mul(a, b Decimal) Decimal {
	an, ah, al, ae, ak := a.Decompose()
	bn, bh, bl, be, bk := b.Decompose()
	neg := an != bn
	switch {
	case ak == bson.DecimalNaN || bk == bson.DecimalNaN:
		return bson.DecimalNaNValue
	case ak == bson.DecimalInfinity || bk == bson.DecimalInfinity:
		if a.IsZero() || b.IsZero() {
			return bson.DecimalNaNValue
		}
		return infinity(neg)
	}
	exp := ae + be
	if ah|bh == 0 && exp >= bson.DecimalMinExponent && exp <= bson.DecimalMaxExponent {
		// Below 2^112 there are at most 34 digits.
		if hi, lo := bits.Mul64(al, bl); hi < 1<<48 {
			return bson.ComposeDecimal(neg, hi, lo, exp)
		}
	}
	c := coefficient(ah, al)
	return round(neg, c.Mul(c, coefficient(bh, bl)), exp, exp, false)
}

// Quo returns a / b. An exact quotient takes the difference of the two exponents, or the nearest possible one. x/0
// is infinite, 0/0 is NaN, and x/Infinity is zero with the least exponent.
func Quo(a, b Decimal) Decimal {
	an, ah, al, ae, ak := a.Decompose()
	bn, bh, bl, be, bk := b.Decompose()
	neg := an != bn
	switch {
	case ak == bson.DecimalNaN || bk == bson.DecimalNaN || ak == bson.DecimalInfinity && bk == bson.DecimalInfinity:
		return bson.DecimalNaNValue
	case ak == bson.DecimalInfinity:
		return infinity(neg)
	case bk == bson.DecimalInfinity:
		return bson.ComposeDecimal(neg, 0, 0, bson.DecimalMinExponent)
	case bh|bl == 0 && ah|al == 0:
		return bson.DecimalNaNValue
	case bh|bl == 0:
		return infinity(neg)
	}
	x, y := coefficient(ah, al), coefficient(bh, bl)
	ideal := ae - be
	if x.Sign() == 0 {
		return round(neg, x, ideal, ideal, false)
	}
	scale := max(digitsMax+2+digits(y)-digits(x), 0)
	x.Mul(x, pow10(scale))
	rem := new(big.Int)
	x.QuoRem(x, y, rem)
	return round(neg, x, ideal-scale, ideal, rem.Sign() != 0)
}

// Rem returns the exact remainder of a divided by b, for a quotient that is truncated to an integer; it has the sign
// of a.
// Manual: reference/operator/aggregation/mod.
func Rem(a, b Decimal) Decimal {
	an, ah, al, ae, ak := a.Decompose()
	_, bh, bl, be, bk := b.Decompose()
	switch {
	case ak != bson.DecimalFinite || bk == bson.DecimalNaN || bk == bson.DecimalFinite && bh|bl == 0:
		return bson.DecimalNaNValue
	case bk == bson.DecimalInfinity:
		return a
	}
	x, y := coefficient(ah, al), coefficient(bh, bl)
	exp := min(ae, be)
	switch gap := ae - be; {
	case x.Sign() == 0:
	case gap >= 0: // x × 10^gap mod y, without building the power
		p := new(big.Int).Exp(powers[1], big.NewInt(int64(gap)), y)
		x.Mul(x, p).Rem(x, y)
	case -gap > digitsMax: // the divisor is larger
		return a
	default:
		x.Rem(x, new(big.Int).Mul(y, pow10(-gap)))
	}
	return round(an, x, exp, exp, false)
}

// Cmp compares two decimals as numbers: -1, 0 or 1. NaN equals itself and is less than all other numbers.
func Cmp(a, b Decimal) int {
	return bson.CompareNumbers(value(a), value(b))
}

func value(d Decimal) bson.Value {
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(d.Lo>>(8*i)), byte(d.Hi>>(8*i))
	}
	return bson.Value{Type: bson.TypeDecimal128, Data: b[:]}
}

// Sqrt returns the square root: NaN for negative numbers, -0 for -0. An exact root takes half the exponent of d, or
// the nearest possible one.
func Sqrt(d Decimal) Decimal {
	neg, hi, lo, exp, kind := d.Decompose()
	switch {
	case kind == bson.DecimalNaN || neg && hi|lo != 0 || neg && kind == bson.DecimalInfinity:
		return bson.DecimalNaNValue
	case kind == bson.DecimalInfinity:
		return d
	}
	ideal := (exp - (exp & 1)) / 2 // rounded down
	c := coefficient(hi, lo)
	if c.Sign() == 0 {
		return round(neg, c, ideal, ideal, false)
	}
	// The coefficient is multiplied by an even power of ten, so that its root has 34 digits and one more for
	// rounding.
	scale := max(2*digitsMax+4-digits(c), 0)
	if (exp-scale)&1 != 0 {
		scale++
	}
	c.Mul(c, pow10(scale))
	root := new(big.Int).Sqrt(c)
	exact := new(big.Int).Mul(root, root).Cmp(c) == 0
	return round(false, root, (exp-scale)/2, ideal, !exact)
}
