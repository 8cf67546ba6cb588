package decimal

import (
	"math/big"

	"github.com/cantledb/cantle/bson"
)

// Rounding selects the neighbour for a result that does not fit.
type Rounding uint8

const (
	HalfEven Rounding = iota // the nearest, the even one if both are equally near
	Down                     // towards zero
	Floor                    // towards -Infinity
	Ceiling                  // towards +Infinity
)

// coefficient returns hi:lo as a new integer.
func coefficient(hi, lo uint64) *big.Int {
	c := new(big.Int).SetUint64(hi)
	return c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(lo))
}

// pow10 returns 10^n, which must not be changed.
func pow10(n int) *big.Int {
	if n < len(powers) {
		return powers[n]
	}
	return new(big.Int).Exp(powers[1], big.NewInt(int64(n)), nil)
}

var powers = func() (p [128]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
}()

// digits counts the decimal digits of c; zero has one.
func digits(c *big.Int) int {
	n := c.BitLen()*30103/100000 + 1
	for n > 1 && c.CmpAbs(pow10(n-1)) < 0 {
		n--
	}
	for c.CmpAbs(pow10(n)) >= 0 {
		n++
	}
	return n
}

// shorten divides c by 10^drop in place and rounds the quotient. sticky reports a non-zero rest below c. The result
// reports whether digits were lost.
func shorten(c *big.Int, drop int, r Rounding, neg, sticky bool) (inexact bool) {
	if drop <= 0 && !sticky {
		return false
	}
	var half int // the lost part compared with one half
	lost := sticky
	switch n := digits(c); {
	case c.Sign() == 0:
		half = -1
	case drop <= 0:
		half = -1
	case drop > n:
		c.SetInt64(0)
		half, lost = -1, true
	default:
		p := pow10(drop)
		rem := new(big.Int)
		c.QuoRem(c, p, rem)
		lost = lost || rem.Sign() != 0
		half = rem.Lsh(rem, 1).Cmp(p)
		if half == 0 && sticky {
			half = 1
		}
	}
	if !lost {
		return false
	}
	up := false
	switch r {
	case HalfEven:
		up = half > 0 || half == 0 && c.Bit(0) != 0
	case Floor:
		up = neg
	case Ceiling:
		up = !neg
	}
	if up {
		c.Add(c, powers[0])
	}
	return true
}

// round returns the decimal of c × 10^exp, rounded to 34 digits (half even), and changes c. An exact result takes
// the exponent nearest to ideal. sticky reports a non-zero rest below c.
func round(neg bool, c *big.Int, exp, ideal int, sticky bool) Decimal {
	if c.Sign() == 0 && !sticky {
		return bson.ComposeDecimal(neg, 0, 0, min(max(ideal, bson.DecimalMinExponent), bson.DecimalMaxExponent))
	}
	n := digits(c)
	drop := max(n-digitsMax, bson.DecimalMinExponent-exp, 0)
	inexact := shorten(c, drop, HalfEven, neg, sticky)
	exp += drop
	if c.Cmp(powers[digitsMax]) == 0 {
		c.Set(powers[digitsMax-1])
		exp++
	}
	if c.Sign() == 0 {
		return bson.ComposeDecimal(neg, 0, 0, bson.DecimalMinExponent)
	}
	switch {
	case inexact:
	case exp > ideal:
		if pad := min(exp-max(ideal, bson.DecimalMinExponent), digitsMax-digits(c)); pad > 0 {
			c.Mul(c, pow10(pad))
			exp -= pad
		}
	case exp < ideal:
		exp = strip(c, exp, min(ideal, bson.DecimalMaxExponent))
	}
	if over := exp - bson.DecimalMaxExponent; over > 0 {
		if digits(c)+over > digitsMax {
			return infinity(neg)
		}
		c.Mul(c, pow10(over))
		exp -= over
	}
	return compose(neg, c, exp)
}

// strip drops trailing zeros of c, each of which increases its exponent by one, until the exponent is most or the last
// digit is not zero. It returns the exponent.
func strip(c *big.Int, exp, most int) int {
	q, r := new(big.Int), new(big.Int)
	for exp < most {
		q.QuoRem(c, powers[1], r)
		if r.Sign() != 0 {
			break
		}
		c.Set(q)
		exp++
	}
	return exp
}

func compose(neg bool, c *big.Int, exp int) Decimal {
	var b [16]byte
	c.FillBytes(b[:])
	var hi, lo uint64
	for i := range 8 {
		hi, lo = hi<<8|uint64(b[i]), lo<<8|uint64(b[8+i])
	}
	return bson.ComposeDecimal(neg, hi, lo, exp)
}

func infinity(neg bool) Decimal {
	if neg {
		return bson.DecimalNegInfValue
	}
	return bson.DecimalInfValue
}

// Quantize returns d with the exponent exp, rounded in the way r. The result is NaN if it needs more than 34 digits,
// if d is not finite, or if exp is out of range.
func Quantize(d Decimal, exp int, r Rounding) Decimal {
	neg, hi, lo, e, kind := d.Decompose()
	if kind != bson.DecimalFinite || exp < bson.DecimalMinExponent || exp > bson.DecimalMaxExponent {
		return bson.DecimalNaNValue
	}
	if e == exp {
		return bson.ComposeDecimal(neg, hi, lo, e)
	}
	c := coefficient(hi, lo)
	switch {
	case c.Sign() == 0:
	case e > exp:
		if e-exp > digitsMax {
			return bson.DecimalNaNValue
		}
		c.Mul(c, pow10(e-exp))
	default:
		shorten(c, exp-e, r, neg, false)
	}
	if c.Cmp(powers[digitsMax]) >= 0 {
		return bson.DecimalNaNValue
	}
	return compose(neg, c, exp)
}

// Round rounds d to a number of places after the point (before it, if negative): the result has exactly that many. If
// the result would need more than 34 digits, or d is not finite, d is returned unchanged. Manual:
// reference/operator/aggregation/round.
func Round(d Decimal, places int) Decimal { return toPlaces(d, places, HalfEven) }

// Trunc is Round towards zero. Manual: reference/operator/aggregation/trunc.
func Trunc(d Decimal, places int) Decimal { return toPlaces(d, places, Down) }

func toPlaces(d Decimal, places int, r Rounding) Decimal {
	if q := Quantize(d, -places, r); !q.IsNaN() {
		return q
	}
	return d
}

// Ceil returns d rounded up to an integer. A number with more than 34 digits before the point (1E+40) and infinities
// give NaN, like in MongoDB.
func Ceil(d Decimal) Decimal { return Quantize(d, 0, Ceiling) }

// FloorInt rounds down to an integer, with the exceptions of Ceil.
func FloorInt(d Decimal) Decimal { return Quantize(d, 0, Floor) }
