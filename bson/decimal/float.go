package decimal

import (
	"math"
	"math/big"
	"sync"

	"github.com/cantledb/cantle/bson"
)

// prec is the number of bits with which the functions of analysis compute: 34 digits are 113 bits, the exponent of a
// power takes up to 15, the rest are guard bits against rounding and cancellation.
const prec = 256

func newFloat() *big.Float { return new(big.Float).SetPrec(prec) }

func fromInt(n int64) *big.Float { return newFloat().SetInt64(n) }

// toFloat converts a finite decimal.
func toFloat(d Decimal) *big.Float {
	neg, hi, lo, exp, _ := d.Decompose()
	f := newFloat().SetInt(coefficient(hi, lo))
	if exp > 0 {
		f.Mul(f, tenTo(exp))
	} else if exp < 0 {
		f.Quo(f, tenTo(-exp))
	}
	if neg {
		f.Neg(f)
	}
	return f
}

// tenTo returns 10^n, with an error of some units in the last place. It multiplies repeated squares.
func tenTo(n int) *big.Float {
	r, p := fromInt(1), fromInt(10)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r.Mul(r, p)
		}
		p.Mul(p, p)
	}
	return r
}

// fromFloat returns a computed number rounded to 34 digits. It keeps all 34, as MongoDB does for inexact results.
// With tidy, it removes trailing zeros behind the point if there are 16 or more, because such a result is exact.
func fromFloat(f *big.Float, tidy bool) Decimal {
	neg := f.Signbit()
	if f.Sign() == 0 {
		return bson.ComposeDecimal(neg, 0, 0, 0)
	}
	if f.IsInf() {
		return infinity(neg)
	}
	f = newFloat().Abs(f)
	// Scale to 34 or 35 digits before the point.
	exp := int(math.Floor(float64(f.MantExp(nil))*(math.Ln2/math.Ln10))) - digitsMax
	switch {
	case exp > bson.DecimalMaxExponent+2:
		return infinity(neg)
	case exp < bson.DecimalMinExponent-2*digitsMax:
		return bson.ComposeDecimal(neg, 0, 0, bson.DecimalMinExponent)
	}
	f.SetPrec(prec + 16)
	if exp > 0 {
		f.Quo(f, tenTo(exp))
	} else {
		f.Mul(f, tenTo(-exp))
	}
	// Some more digits, so that only round rounds.
	f.Mul(f, fromInt(1_000_000_000_000))
	c, _ := f.Add(f, big.NewFloat(0.5)).Int(nil)
	exp -= 12
	d := round(neg, c, exp, bson.DecimalMinExponent, false)
	if !tidy || d.IsInf() {
		return d
	}
	_, hi, lo, exp, _ := d.Decompose()
	c = coefficient(hi, lo)
	stripped := strip(new(big.Int).Set(c), exp, 0)
	if stripped-exp >= 16 { // an irrational number practically never ends like this
		strip(c, exp, 0)
		return compose(neg, c, stripped)
	}
	return d
}

// expFloat returns e^x for |x| below about 20,000.
func expFloat(x *big.Float) *big.Float {
	// x = k ln2 + r; r / 2^16 is so small that its Taylor series needs few terms; the sum is squared 16 times.
	k, _ := newFloat().Quo(x, ln2()).Int64()
	r := newFloat().Sub(x, newFloat().Mul(ln2(), fromInt(k)))
	const halvings = 16
	r.SetMantExp(r, -halvings)
	sum, term := fromInt(1), fromInt(1)
	for n := int64(1); n < 100; n++ {
		term.Mul(term, r)
		term.Quo(term, fromInt(n))
		if negligible(term, sum) {
			break
		}
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}

// negligible reports whether adding term does not change sum any more.
func negligible(term, sum *big.Float) bool {
	return term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-prec-4
}

// lnFloat returns ln x for x > 0, precise also near 1.
func lnFloat(x *big.Float) *big.Float {
	// x = m 2^k with m near 1, so that the series of the logarithm of m needs few terms.
	m := newFloat()
	k := x.MantExp(m)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m.SetMantExp(m, 1)
		k--
	}
	r := log1p(m.Sub(m, fromInt(1)))
	return r.Add(r, newFloat().Mul(ln2(), fromInt(int64(k))))
}

// log1p returns ln(1+y) for y in about [-0.3, 0.42], precise also for tiny y. It takes square roots of 1+y, which
// approach 1, and then uses 2 artanh(z / (2+z)).
func log1p(y *big.Float) *big.Float {
	const roots = 6
	one := fromInt(1)
	z := newFloat().Set(y)
	for range roots { // sqrt(1+z) - 1 = z / (sqrt(1+z) + 1), without cancellation
		s := newFloat().Add(one, z)
		s.Sqrt(s)
		z.Quo(z, s.Add(s, one))
	}
	r := atanhSeries(z.Quo(z, newFloat().Add(fromInt(2), z)))
	return r.SetMantExp(r, roots+1)
}

// atanhSeries returns artanh z for small z.
func atanhSeries(z *big.Float) *big.Float { return oddSeries(z, 1) }

// oddSeries returns the sum of the series z ± z³/3 + z⁵/5 ± …: artanh z for sign 1, arctan z for -1.
func oddSeries(z *big.Float, sign int64) *big.Float {
	square := newFloat().Mul(z, z)
	if sign < 0 {
		square.Neg(square)
	}
	sum, power := newFloat().Set(z), newFloat().Set(z)
	for n := int64(3); n < 400; n += 2 {
		power.Mul(power, square)
		term := newFloat().Quo(power, fromInt(n))
		if negligible(term, sum) {
			break
		}
		sum.Add(sum, term)
	}
	return sum
}

// ln2, ln10 and pi return these constants to prec bits. Each call returns a copy that the caller may change.
func ln2() *big.Float  { return newFloat().Set(ln2Value()) }
func ln10() *big.Float { return newFloat().Set(ln10Value()) }
func pi() *big.Float   { return newFloat().Set(piValue()) }

var (
	ln2Value  = constant("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
	ln10Value = constant("2.302585092994045684017991454684364207601101488628772976033327900967572609677352480235997205089598298")
	piValue   = constant("3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117068")
)

func constant(s string) func() *big.Float {
	return sync.OnceValue(func() *big.Float {
		f, _, _ := big.ParseFloat(s, 10, prec, big.ToNearestEven)
		return f
	})
}
