package expr

import "math"

// Exact sine, cosine and their relatives. The functions of package math have errors of up to two units in the
// last place. MongoDB uses the C library, whose results are almost always the double nearest to the exact
// value. So the result of package math is improved by one step of Newton's method, with sine and cosine in
// twice the precision.

// twin is a number of 106 bits: the sum of a double and its rounding error.
type twin struct{ hi, lo float64 }

// fastTwin returns a+b for |a| >= |b|.
func fastTwin(a, b float64) twin { s := a + b; return twin{s, b - (s - a)} }

// sumTwin returns a+b.
func sumTwin(a, b float64) twin {
	s := a + b
	t := s - a
	return twin{s, (a - (s - t)) + (b - t)}
}

// productTwin returns a·b.
func productTwin(a, b float64) twin { p := a * b; return twin{p, math.FMA(a, b, -p)} }

func (a twin) add(b twin) twin {
	s := sumTwin(a.hi, b.hi)
	return fastTwin(s.hi, s.lo+a.lo+b.lo)
}

func (a twin) neg() twin           { return twin{-a.hi, -a.lo} }
func (a twin) sub(b twin) twin     { return a.add(b.neg()) }
func (a twin) float64() float64    { return a.hi + a.lo }
func (a twin) plus(b twin) float64 { return a.add(b).float64() }

func (a twin) mul(b twin) twin {
	p := productTwin(a.hi, b.hi)
	return fastTwin(p.hi, p.lo+(a.hi*b.lo+a.lo*b.hi))
}

func (a twin) quo(b twin) twin {
	q := a.hi / b.hi
	r := a.sub(b.mul(twin{q, 0}))
	return fastTwin(q, r.float64()/b.hi)
}

// halfPi is π/2 in three doubles.
var halfPi = [3]float64{1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33}

// seriesMax is the number of terms of the power series of sine and cosine: the next term is below 2⁻¹⁰⁶ at π/4.
const seriesMax = 14

// inverses are 1/n!.
var inverses = func() (all [2 * seriesMax]twin) {
	all[0] = twin{1, 0}
	for n := 1; n < len(all); n++ {
		all[n] = all[n-1].quo(twin{float64(n), 0})
	}
	return all
}()

// exactMax is the largest angle, in radians, whose quarter turns can be subtracted exactly.
const exactMax = 1 << 20

// sinCos returns sine and cosine of an angle up to exactMax.
func sinCos(x twin) (sin, cos twin) {
	turns := math.Round(x.hi / halfPi[0])
	r := x
	for _, part := range halfPi {
		r = r.sub(productTwin(turns, part))
	}
	square := r.mul(r)
	for n := 2*seriesMax - 1; n > 0; n -= 2 {
		sin = inverses[n].sub(square.mul(sin))
		cos = inverses[n-1].sub(square.mul(cos))
	}
	sin = sin.mul(r)
	switch int64(turns) & 3 {
	case 1:
		return cos, sin.neg()
	case 2:
		return sin.neg(), cos.neg()
	case 3:
		return cos.neg(), sin
	}
	return sin, cos
}

// coarse reports whether the angle x is so small or large that the functions of package math are used as they
// are.
func coarse(x float64) bool { return !(math.Abs(x) >= 1e-7 && math.Abs(x) <= exactMax) }

func exactSin(x float64) float64 {
	if coarse(x) {
		return math.Sin(x)
	}
	sin, _ := sinCos(twin{x, 0})
	return sin.float64()
}

func exactCos(x float64) float64 {
	if coarse(x) {
		return math.Cos(x)
	}
	_, cos := sinCos(twin{x, 0})
	return cos.float64()
}

func exactTan(x float64) float64 {
	if coarse(x) {
		return math.Tan(x)
	}
	sin, cos := sinCos(twin{x, 0})
	return sin.quo(cos).float64()
}

func exactAsin(x float64) float64 {
	y := math.Asin(x)
	if coarse(y) || math.Abs(x) == 1 {
		return y
	}
	sin, cos := sinCos(twin{y, 0})
	return twin{x, 0}.sub(sin).quo(cos).plus(twin{y, 0})
}

func exactAcos(x float64) float64 {
	y := math.Acos(x)
	if coarse(y) || math.Abs(x) == 1 {
		return y
	}
	sin, cos := sinCos(twin{y, 0})
	return cos.sub(twin{x, 0}).quo(sin).plus(twin{y, 0})
}

func exactAtan(x float64) float64 { return exactAtan2(x, 1) }

// exactAtan2 returns the angle of the point (x, y). It rotates the point back by the angle of math.Atan2; the
// remaining angle is the correction.
func exactAtan2(y, x float64) float64 {
	a := math.Atan2(y, x)
	if coarse(a) || huge(y) || huge(x) {
		return a
	}
	sin, cos := sinCos(twin{a, 0})
	px, py := twin{x, 0}, twin{y, 0}
	left := py.mul(cos).sub(px.mul(sin))
	return left.quo(px.mul(cos).add(py.mul(sin))).plus(twin{a, 0})
}

// huge reports whether products with a number, very large or very small, may overflow or underflow.
func huge(x float64) bool { a := math.Abs(x); return !(a > 1e-100 && a < 1e100) && a != 0 }
