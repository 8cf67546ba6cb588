package ratelimit

import (
	"math"
	"math/bits"
	"strconv"
)

// MicroRU is an amount of work in millionths of a request unit. Sums that would overflow stay at the largest amount.
type MicroRU int64

// RU is one request unit.
const RU MicroRU = 1_000_000

// microMax is the largest amount, positive or negative: an eighth of the largest int64, so that a sum of a few
// amounts cannot overflow.
const microMax = MicroRU(math.MaxInt64 / 8)

// Hundredths returns the amount in hundredths of a request unit, rounded half up: the precision shown to
// users.
func (c MicroRU) Hundredths() int64 {
	const unit = int64(RU) / 100
	n := int64(c)
	q, r := n/unit, n%unit
	if r < 0 {
		q, r = q-1, r+unit
	}
	if r >= unit/2 {
		q++
	}
	return q
}

// Float returns the amount in request units rounded half up to 0.01, as in replies (RequestCharge is a
// double).
func (c MicroRU) Float() float64 { return float64(c.Hundredths()) / 100 }

// Exact returns the amount in request units, as settings are stored and shown. AmountOf is its inverse.
func (c MicroRU) Exact() float64 { return float64(c) / float64(RU) }

// AmountOf returns an amount given in request units. A positive amount is at least one millionth of a request unit.
func AmountOf(requestUnits float64) MicroRU {
	if !(requestUnits > 0) {
		return 0
	}
	return max(1, MicroRU(math.Round(min(requestUnits, microMax.Exact())*float64(RU))))
}

// String prints the amount in request units with two decimals, rounded half up: "2.57".
func (c MicroRU) String() string { return string(c.Append(nil)) }

// Append appends String's text to dst.
func (c MicroRU) Append(dst []byte) []byte {
	h := c.Hundredths()
	if h < 0 {
		dst, h = append(dst, '-'), -h
	}
	dst = strconv.AppendInt(dst, h/100, 10)
	return append(dst, '.', byte('0'+h/10%10), byte('0'+h%10))
}

// addSaturating returns the sum of two amounts, cut to the range from -microMax to microMax.
func addSaturating(a, b MicroRU) MicroRU {
	return max(-microMax, min(microMax, max(-microMax, min(microMax, a))+max(-microMax, min(microMax, b))))
}

// scale returns n*num/den rounded half up, at most microMax, and 0 if n or num is not positive; den > 0.
func scale(n, num, den int64) MicroRU {
	if n <= 0 || num <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	lo, carry := bits.Add64(lo, uint64(den/2), 0)
	hi += carry
	if hi >= uint64(den) {
		return microMax
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return MicroRU(min(q, uint64(microMax)))
}
