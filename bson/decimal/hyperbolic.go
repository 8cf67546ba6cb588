package decimal

import (
	"math/big"

	"github.com/cantledb/cantle/bson"
)

// Sinh returns the hyperbolic sine.
func Sinh(d Decimal) Decimal {
	if d.IsNaN() || d.IsInf() {
		return d
	}
	if Cmp(Abs(d), FromInt64(expMost)) > 0 {
		return infinity(d.Hi>>63 != 0)
	}
	return withZeroSign(sinhFloat(toFloat(d)), d)
}

func sinhFloat(x *big.Float) *big.Float {
	if x.MantExp(nil) < 0 { // below 1/2 the difference of powers would cancel
		square := newFloat().Mul(x, x)
		sum, term := newFloat().Set(x), newFloat().Set(x)
		for n := int64(1); n < 100; n++ {
			term.Mul(term, square)
			term.Quo(term, fromInt(2*n*(2*n+1)))
			if negligible(term, sum) {
				break
			}
			sum.Add(sum, term)
		}
		return sum
	}
	e := expFloat(x)
	e.Sub(e, newFloat().Quo(fromInt(1), e))
	return e.SetMantExp(e, -1)
}

// Cosh returns the hyperbolic cosine.
func Cosh(d Decimal) Decimal {
	if d.IsNaN() || d.IsInf() {
		return Abs(d)
	}
	if Cmp(Abs(d), FromInt64(expMost)) > 0 {
		return bson.DecimalInfValue
	}
	return fromFloat(coshFloat(toFloat(d)), true)
}

func coshFloat(x *big.Float) *big.Float {
	e := expFloat(x)
	e.Add(e, newFloat().Quo(fromInt(1), e))
	return e.SetMantExp(e, -1)
}

// Tanh returns the hyperbolic tangent.
func Tanh(d Decimal) Decimal {
	if d.IsNaN() {
		return bson.DecimalNaNValue
	}
	if Cmp(Abs(d), FromInt64(200)) > 0 { // 1 to more than 34 digits
		if d.Hi>>63 != 0 {
			return FromInt64(-1)
		}
		return FromInt64(1)
	}
	x := toFloat(d)
	return withZeroSign(newFloat().Quo(sinhFloat(x), coshFloat(x)), d)
}

// Asinh returns the inverse hyperbolic sine.
func Asinh(d Decimal) Decimal {
	if d.IsNaN() || d.IsInf() {
		return d
	}
	x := newFloat().Abs(toFloat(d))
	one := fromInt(1)
	s := newFloat().Mul(x, x)
	s.Sqrt(s.Add(s, one))
	var r *big.Float
	if x.MantExp(nil) < -1 { // ln(1 + x + x²/(1+s)), precise for small x
		y := newFloat().Mul(x, x)
		y.Quo(y, s.Add(s, one))
		r = log1p(y.Add(y, x))
	} else {
		r = lnFloat(s.Add(s, x))
	}
	if d.Hi>>63 != 0 {
		r.Neg(r)
	}
	return withZeroSign(r, d)
}

// Acosh returns the inverse hyperbolic cosine; NaN below 1.
func Acosh(d Decimal) Decimal {
	if d.IsNaN() || Cmp(d, FromInt64(1)) < 0 {
		return bson.DecimalNaNValue
	}
	if d.IsInf() {
		return d
	}
	x, one := toFloat(d), fromInt(1)
	y := newFloat().Sub(x, one)
	s := newFloat().Mul(y, newFloat().Add(x, one))
	y.Add(y, s.Sqrt(s)) // x + sqrt(x²-1) - 1
	if y.MantExp(nil) < -1 {
		return fromFloat(log1p(y), true)
	}
	return fromFloat(lnFloat(y.Add(y, one)), true)
}

// Atanh returns the inverse hyperbolic tangent; infinite at ±1, NaN beyond.
func Atanh(d Decimal) Decimal {
	if !unit(d) {
		return bson.DecimalNaNValue
	}
	x, one := newFloat().Abs(toFloat(d)), fromInt(1)
	below := newFloat().Sub(one, x)
	if below.Sign() == 0 {
		return infinity(d.Hi>>63 != 0)
	}
	y := newFloat().Quo(x, below)
	y.SetMantExp(y, 1) // (1+x)/(1-x) - 1
	var r *big.Float
	if y.MantExp(nil) < -1 {
		r = log1p(y)
	} else {
		r = lnFloat(y.Add(y, one))
	}
	r.SetMantExp(r, -1)
	if d.Hi>>63 != 0 {
		r.Neg(r)
	}
	return withZeroSign(r, d)
}
