package decimal

import (
	"math/big"
	"sync"

	"github.com/cantledb/cantle/bson"
)

// Sin returns the sine of an angle in radians; NaN for infinities.
func Sin(d Decimal) Decimal { return angle(d, func(s, c *big.Float) *big.Float { return s }) }

// Cos returns the cosine.
func Cos(d Decimal) Decimal { return angle(d, func(s, c *big.Float) *big.Float { return c }) }

// Tan returns the tangent.
func Tan(d Decimal) Decimal {
	return angle(d, func(s, c *big.Float) *big.Float { return newFloat().Quo(s, c) })
}

func angle(d Decimal, f func(sin, cos *big.Float) *big.Float) Decimal {
	if d.IsNaN() || d.IsInf() {
		return bson.DecimalNaNValue
	}
	s, c := sincos(reduce(d))
	return withZeroSign(f(s, c), d)
}

// withZeroSign returns the result f of an odd function of d, rounded to 34 digits. If f is zero, it gets the sign of
// d.
func withZeroSign(f *big.Float, d Decimal) Decimal {
	if f.Sign() == 0 {
		return bson.ComposeDecimal(d.Hi>>63 != 0, 0, 0, 0)
	}
	return fromFloat(f, true)
}

// reduce returns an angle d modulo 2π, in (-2π, 2π), to full relative precision except for very rare arguments.
func reduce(d Decimal) *big.Float {
	neg, hi, lo, exp, _ := d.Decompose()
	if exp <= 6 { // at most 10^40: the available bits of π are enough
		x := toFloat(d)
		// π to twice the precision compensates the cancellation.
		wide := new(big.Float).SetPrec(2 * prec).Set(x)
		turn := new(big.Float).SetPrec(2*prec).Quo(wide, twoPi())
		k, _ := turn.Int(nil)
		wide.Sub(wide, new(big.Float).SetPrec(2*prec).Mul(twoPi(), new(big.Float).SetPrec(2*prec).SetInt(k)))
		return newFloat().Set(wide)
	}
	// A larger argument is an integer of up to 6145 digits. It is reduced modulo 2π, both as multiples of 10^-6400.
	n := coefficient(hi, lo)
	n.Mul(n, pow10(exp+piPlaces))
	n.Rem(n, new(big.Int).Lsh(piDigits(), 1))
	r := newFloat().SetInt(n)
	r.Quo(r, tenTo(piPlaces))
	if neg {
		r.Neg(r)
	}
	return r
}

// twoPi is 2π to 512 bits. It must not be changed.
var twoPi = sync.OnceValue(func() *big.Float {
	f := new(big.Float).SetPrec(2 * prec).SetInt(new(big.Int).Quo(piDigits(), pow10(piPlaces-200)))
	f.Quo(f, new(big.Float).SetPrec(2*prec).SetInt(pow10(200)))
	return f.SetMantExp(f, 1)
})

// piPlaces is enough for the largest decimal and 100 more places.
const piPlaces = 6400

// piDigits returns the integer part of π × 10^piPlaces, computed by Machin's formula at the first use.
var piDigits = sync.OnceValue(func() *big.Int {
	unit := pow10(piPlaces + 10)
	pi := arctanInverse(5, unit)
	pi.Lsh(pi, 2).Sub(pi, arctanInverse(239, unit)).Lsh(pi, 2)
	return pi.Quo(pi, pow10(10))
})

// arctanInverse returns arctan(1/n) × unit.
func arctanInverse(n int64, unit *big.Int) *big.Int {
	power := new(big.Int).Quo(unit, big.NewInt(n))
	sum, term, square := new(big.Int).Set(power), new(big.Int), big.NewInt(n*n)
	for k := int64(3); power.Sign() != 0; k += 2 {
		power.Quo(power, square)
		term.Quo(power, big.NewInt(k))
		if k&2 != 0 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	return sum
}

// sincos computes sine and cosine for |x| < 2π.
func sincos(x *big.Float) (sin, cos *big.Float) {
	// x = k π/2 + r with |r| <= π/4.
	half := pi()
	half.SetMantExp(half, -1)
	q := newFloat().Quo(x, half)
	if q.Signbit() {
		q.Sub(q, big.NewFloat(0.5))
	} else {
		q.Add(q, big.NewFloat(0.5))
	}
	k, _ := q.Int64()
	r := newFloat().Sub(x, half.Mul(half, fromInt(k)))
	square := newFloat().Mul(r, r)
	square.Neg(square)
	s, c := newFloat().Set(r), fromInt(1)
	st, ct := newFloat().Set(r), fromInt(1)
	for n := int64(1); n < 100; n++ {
		ct.Mul(ct, square)
		ct.Quo(ct, fromInt((2*n-1)*2*n))
		st.Mul(st, square)
		st.Quo(st, fromInt(2*n*(2*n+1)))
		if negligible(ct, c) && negligible(st, s) {
			break
		}
		c.Add(c, ct)
		s.Add(s, st)
	}
	switch k & 3 {
	case 1:
		return c, s.Neg(s)
	case 2:
		return s.Neg(s), c.Neg(c)
	case 3:
		return c.Neg(c), s
	}
	return s, c
}

// atanFloat returns arctan x.
func atanFloat(x *big.Float) *big.Float {
	one := fromInt(1)
	z := newFloat().Abs(x)
	inverse := z.Cmp(one) > 0
	if inverse {
		z.Quo(one, z)
	}
	const halvings = 8
	for range halvings { // arctan z = 2 arctan(z / (1 + sqrt(1+z²)))
		s := newFloat().Mul(z, z)
		s.Sqrt(s.Add(s, one))
		z.Quo(z, s.Add(s, one))
	}
	r := oddSeries(z, -1)
	r.SetMantExp(r, halvings)
	if inverse {
		half := pi()
		half.SetMantExp(half, -1)
		r.Sub(half, r)
	}
	if x.Signbit() {
		r.Neg(r)
	}
	return r
}

// Atan returns the angle in (-π/2, π/2) whose tangent is d.
func Atan(d Decimal) Decimal {
	switch {
	case d.IsNaN():
		return bson.DecimalNaNValue
	case d.IsInf():
		half := pi()
		half.SetMantExp(half, -1)
		if d.Hi>>63 != 0 {
			half.Neg(half)
		}
		return fromFloat(half, true)
	}
	return withZeroSign(atanFloat(toFloat(d)), d)
}

// Atan2 returns the angle in [-π, π] of the point (x, y).
func Atan2(y, x Decimal) Decimal {
	yn, xn := y.Hi>>63 != 0, x.Hi>>63 != 0
	var r *big.Float
	switch {
	case y.IsNaN() || x.IsNaN():
		return bson.DecimalNaNValue
	case y.IsInf() && x.IsInf():
		r = atanFloat(fromInt(1))
	case y.IsInf() || x.IsZero() && !y.IsZero():
		half := pi()
		r = half.SetMantExp(half, -1)
		xn = false
	case x.IsInf() || y.IsZero():
		r = newFloat()
	default:
		r = atanFloat(newFloat().Quo(toFloat(Abs(y)), toFloat(Abs(x))))
	}
	if xn {
		r.Sub(pi(), r)
	}
	if yn {
		r.Neg(r)
	}
	return withZeroSign(r, y)
}

// unit reports whether |d| <= 1.
func unit(d Decimal) bool { return !d.IsNaN() && Cmp(Abs(d), FromInt64(1)) <= 0 }

// Asin returns the angle in [-π/2, π/2] whose sine is d; NaN outside of [-1, 1].
func Asin(d Decimal) Decimal {
	if !unit(d) {
		return bson.DecimalNaNValue
	}
	x := toFloat(d)
	return withZeroSign(asinFloat(x), d)
}

// asinFloat is 2 arctan(x / (1 + sqrt((1-x)(1+x)))).
func asinFloat(x *big.Float) *big.Float {
	one := fromInt(1)
	s := newFloat().Mul(newFloat().Sub(one, x), newFloat().Add(one, x))
	s.Add(s.Sqrt(s), one)
	r := atanFloat(s.Quo(x, s))
	return r.SetMantExp(r, 1)
}

// Acos returns the angle in [0, π] whose cosine is d; NaN outside of [-1, 1].
func Acos(d Decimal) Decimal {
	if !unit(d) {
		return bson.DecimalNaNValue
	}
	one, x := fromInt(1), toFloat(d)
	below := newFloat().Add(one, x)
	if below.Sign() == 0 {
		return fromFloat(pi(), true)
	}
	s := newFloat().Quo(newFloat().Sub(one, x), below)
	r := atanFloat(s.Sqrt(s)) // 2 arctan sqrt((1-x)/(1+x)), precise near 1
	return fromFloat(r.SetMantExp(r, 1), true)
}

// degree is π/180.
func degree() *big.Float { f := pi(); return f.Quo(f, fromInt(180)) }

// DegreesToRadians returns d π/180.
func DegreesToRadians(d Decimal) Decimal { return scaled(d, degree()) }

// RadiansToDegrees returns d 180/π.
func RadiansToDegrees(d Decimal) Decimal { return scaled(d, newFloat().Quo(fromInt(1), degree())) }

func scaled(d Decimal, by *big.Float) Decimal {
	if d.IsNaN() || d.IsInf() || d.IsZero() {
		return d
	}
	f := toFloat(d)
	return fromFloat(f.Mul(f, by), true)
}
