package keystring

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/cantledb/cantle/bson"
)

// expBias makes decimal exponents (-6176 to 6144) positive.
const expBias = 8000

// appendInt encodes the integer n. tb collects its type; it is nil for an int32, the type that Decode assumes.
func appendInt(dst []byte, n int64, tb *TypeBits) []byte {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		tb.add(codeInt64)
	}
	if n == 0 {
		return append(dst, tZero)
	}
	neg, mag := n < 0, uint64(n)
	if neg {
		mag = -mag
	}
	if over := bits.Len64(mag) - 53; over > 0 && mag&(1<<over-1) != 0 {
		// The magnitude is no double: its digits are the tail, and Decode assumes int64.
		d := math.Float64bits(float64(mag >> over << over))
		return appendTail(dst, d, neg, 0, mag, 0)
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		tb.add(codeInt64)
	}
	return appendExact(dst, math.Float64bits(float64(mag)), neg)
}

func appendDouble(dst []byte, v bson.Value, tb *TypeBits) []byte {
	b := binary.LittleEndian.Uint64(v.Data)
	f := math.Float64frombits(b)
	switch {
	case f != f:
		return append(dst, tNaN)
	case f == 0:
		if b != 0 {
			tb.add(codeNegativeZero)
		} else {
			tb.add(codeDouble)
		}
		return append(dst, tZero)
	}
	if tb != nil && f >= math.MinInt32 && f <= math.MaxInt32 && f == math.Trunc(f) {
		tb.add(codeDouble)
	}
	return appendExact(dst, b&^(1<<63), b>>63 != 0)
}

// appendExact encodes a number whose magnitude equals the double with the 63 bits mag.
func appendExact(dst []byte, mag uint64, neg bool) []byte {
	n := 9 - bits.TrailingZeros64(mag)/7 // number of groups up to the last one with a bit
	w := mag << 1
	if neg {
		dst = append(dst, tNegative)
		for ; n > 1; n-- {
			dst = append(dst, ^(byte(w>>56) | 1))
			w <<= 7
		}
		return append(dst, ^(byte(w>>56) & 0xFE))
	}
	dst = append(dst, tPositive)
	for ; n > 1; n-- {
		dst = append(dst, byte(w>>56)|1)
		w <<= 7
	}
	return append(dst, byte(w>>56)&0xFE)
}

// appendTail encodes a number whose magnitude is between the double with the 63 bits mag and the next double: all
// groups, then hi:lo × 10^exp as the exponent of its first digit and pairs of digits.
func appendTail(dst []byte, mag uint64, neg bool, hi, lo uint64, exp int) []byte {
	start := len(dst) + 1
	dst = append(dst, tPositive)
	w := mag << 1
	for range 9 {
		dst = append(dst, byte(w>>56)|1)
		w <<= 7
	}
	var buf [40]byte
	digits := appendDigits(buf[:0], hi, lo)
	dst = binary.BigEndian.AppendUint16(dst, uint16(exp+len(digits)-1+expBias))
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if len(digits)&1 != 0 {
		digits = append(digits, '0')
	}
	for i := 0; i < len(digits); i += 2 {
		dst = append(dst, ((digits[i]-'0')*10+digits[i+1]-'0')<<1|1)
	}
	dst[len(dst)-1] &^= 1
	if neg {
		dst[start-1] = tNegative
		invert(dst[start:])
	}
	return dst
}

// appendDigits writes a 128-bit number below 10^36 in decimal.
func appendDigits(dst []byte, hi, lo uint64) []byte {
	const e18 = 1_000_000_000_000_000_000
	if hi == 0 {
		return appendUint(dst, lo)
	}
	q, r := bits.Div64(hi%e18, lo, e18) // hi/e18 is 0 for coefficients of decimals
	dst = appendUint(dst, q)
	n := len(dst)
	dst = append(dst, "000000000000000000"...)
	for i := n + 17; i >= n; i-- {
		dst[i] = byte('0' + r%10)
		r /= 10
	}
	return dst
}

func appendUint(dst []byte, n uint64) []byte {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return append(dst, b[i:]...)
		}
	}
}

func appendDecimal(dst []byte, v bson.Value, tb *TypeBits) []byte {
	d, _ := v.Decimal()
	neg, hi, lo, exp, kind := d.Decompose()
	switch {
	case kind == bson.DecimalNaN:
		tb.addDecimal(false, 0)
		return append(dst, tNaN)
	case kind == bson.DecimalInfinity:
		tb.addDecimal(neg, 0)
		return appendExact(dst, math.Float64bits(math.Inf(1)), neg)
	case hi == 0 && lo == 0:
		tb.addDecimal(neg, exp)
		return append(dst, tZero)
	}
	mag, isDouble := floorDouble(hi, lo, exp)
	if isDouble {
		tb.addDecimal(neg, exp)
		return appendExact(dst, math.Float64bits(mag), neg)
	}
	if tb != nil && !assumedDecimal(hi, lo, exp) {
		tb.addDecimal(neg, exp)
	}
	return appendTail(dst, math.Float64bits(mag), neg, hi, lo, exp)
}

// assumedDecimal reports whether Decode returns exactly the decimal hi:lo × 10^exp for a tail without type bits: one
// without trailing zeros that is no integer.
func assumedDecimal(hi, lo uint64, exp int) bool {
	if exp >= 0 {
		return false // often an int64; not worth distinguishing
	}
	if hi == 0 {
		return lo%10 != 0
	}
	_, r := bits.Div64(hi%10, lo, 10)
	return r != 0
}

// floorDouble returns the largest double that is not above hi:lo × 10^exp, and reports whether the two
// are equal.
func floorDouble(hi, lo uint64, exp int) (d float64, exact bool) {
	if hi == 0 && lo < 1<<53 && exp >= -22 && exp <= 22 {
		// A product or quotient of two exact doubles is rounded once. A fused multiply-add, which does not round the
		// product, determines the sign of the rounding error, and so whether d is above the value.
		c := float64(lo)
		var above float64 // sign of d - value
		if exp < 0 {
			p := pow10[-exp]
			d = c / p
			above = math.FMA(d, p, -c)
		} else {
			p := pow10[exp]
			d = c * p
			above = -math.FMA(c, p, -d)
		}
		if above > 0 {
			d = math.Nextafter(d, 0)
		}
		return d, above == 0
	}
	return floorDoubleBig(hi, lo, exp)
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func floorDoubleBig(hi, lo uint64, exp int) (d float64, exact bool) {
	var buf [40]byte
	lead := exp + len(appendDigits(buf[:0], hi, lo)) - 1
	switch {
	case lead > 308:
		return math.MaxFloat64, false
	case lead < -324:
		return 0, false
	}
	num := new(big.Int).SetUint64(hi)
	num.Lsh(num, 64).Or(num, new(big.Int).SetUint64(lo))
	den := big.NewInt(1)
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	if exp >= 0 {
		num.Mul(num, p)
	} else {
		den = p
	}
	r := new(big.Rat).SetFrac(num, den)
	d, exact = r.Float64()
	if exact {
		return d, true
	}
	if math.IsInf(d, 0) {
		return math.MaxFloat64, false
	}
	if new(big.Rat).SetFloat64(d).Cmp(r) > 0 {
		d = math.Nextafter(d, 0)
	}
	return d, false
}
