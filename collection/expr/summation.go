package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// Summation holds the sum of numbers for $sum and $avg with about 48 digits: doubles and integers as three
// doubles whose exact sum is the sum so far (Knuth's and Dekker's compensated summation, twice), decimals
// separately. So a sum of doubles and integers, unless large numbers cancel out, does not depend on how they are
// distributed to partitions and runs. Values that are not numbers are ignored. The zero Summation is ready to use.
// Manual: reference/operator/aggregation/sum.
type Summation struct {
	sum, rest float64 // rounded exact sum, and the error of the rounding
	tail      float64 // error of rounding rest
	special   float64 // plain sum, for infinities and NaN
	decimal   bson.Decimal128
	hasDec    bool
	widest    int // rank
	count     int64
}

// Add adds v if it is a number, and reports whether it is.
func (t *Summation) Add(v bson.Value) bool {
	r := rank(v.Type)
	if r == 0 {
		return false
	}
	t.widest = max(t.widest, r)
	t.count++
	switch r {
	case 1, 2:
		n, _ := v.Int64()
		t.addInt(n)
	case 3:
		f, _ := v.Double()
		t.addDouble(f)
	case 4:
		d, _ := v.Decimal()
		t.addDecimal(d)
	}
	return true
}

// AddTimes adds the integer v n times. The product must fit into 64 bits.
func (t *Summation) AddTimes(v bson.Value, n int64) {
	each, _ := v.Int64()
	t.widest = max(t.widest, rank(v.Type))
	t.count += n
	t.addInt(each * n)
}

// addInt adds an integer to the sum as two parts, each of which a double holds exactly.
func (t *Summation) addInt(n int64) {
	high := n / (1 << 32) * (1 << 32)
	t.addDouble(float64(n - high))
	if high != 0 {
		t.addDouble(float64(high))
	}
}

// AddRounded adds v like Add, but first rounds an integer to a double, as $avg does.
func (t *Summation) AddRounded(v bson.Value) bool {
	n, ok := v.Int64()
	if !ok {
		return t.Add(v)
	}
	t.widest = max(t.widest, rank(v.Type))
	t.count++
	t.addDouble(float64(n))
	return true
}

// addDecimal adds a decimal. The first NaN is kept, with its sign.
func (t *Summation) addDecimal(d bson.Decimal128) {
	switch {
	case t.hasDec && t.decimal.IsNaN():
	case d.IsNaN():
		t.hasDec, t.decimal = true, d
	case !t.hasDec:
		t.hasDec, t.decimal = true, decimal.Add(decimal.FromInt64(0), d)
	default:
		t.decimal = decimal.Add(t.decimal, d)
	}
}

func (t *Summation) addDouble(x float64) {
	t.special += x
	s, left := twoSum(t.sum, x)
	t.sum = s
	t.rest, left = twoSum(t.rest, left)
	t.tail += left
}

// twoSum returns the rounded sum a+b and its exact error, for any magnitudes.
func twoSum(a, b float64) (s, left float64) {
	s = a + b
	v := s - a
	return s, (a - (s - v)) + (b - v)
}

// parts returns the sum rounded to a double, and the rest as another double. Unless large numbers cancel out,
// the results do not depend on the order in which the numbers were added, nor on their distribution to partial sums.
func (t *Summation) parts() (sum, rest float64) {
	sum, left := twoSum(t.sum, t.rest)
	rest, left = twoSum(left, t.tail)
	sum, more := twoSum(sum, rest)
	return sum, more + left
}

// Count returns the number of added numbers.
func (t *Summation) Count() int64 { return t.count }

func (t *Summation) double() float64 {
	f, _ := t.parts()
	if f != f || math.IsInf(f, 0) {
		return t.special
	}
	return f
}

// long returns the sum as an int64 if it fits.
func (t *Summation) long() (int64, bool) {
	sum, left := t.parts()
	if !(math.Abs(sum) <= 1<<63) {
		return 0, false
	}
	n, rest := int64(0), int64(left)
	switch {
	case sum == 1<<63:
		if rest >= 0 {
			return 0, false
		}
		return math.MaxInt64 + rest + 1, true
	default:
		n = int64(sum)
	}
	return AddInt64(n, rest)
}

// rounded returns the sum as a whole number, rounded once: half away from zero, or half to even if a decimal was added. ok
// is false if it is no int64.
func (t *Summation) rounded() (n int64, ok bool) {
	if t.hasDec {
		return decimal.ToInt64(t.decimalSum(), decimal.HalfEven)
	}
	sum, rest := t.parts()
	if sum == math.Trunc(sum) && t.special-t.special == 0 {
		whole := Summation{sum: sum, rest: math.Round(rest)}
		return whole.long()
	}
	return roundAway(t.double())
}

func (t *Summation) decimalSum() bson.Decimal128 {
	if t.decimal.IsNaN() {
		return t.decimal
	}
	if f := t.double(); f != f || math.IsInf(f, 0) {
		return decimal.Add(t.decimal, decimal.FromFloat64(f))
	}
	sum, rest := t.parts()
	if n, ok := t.long(); ok && rest == math.Trunc(rest) && sum == math.Trunc(sum) {
		return decimal.Add(t.decimal, decimal.FromInt64(n))
	}
	return decimal.Add(t.decimal, decimal.Add(exactDecimal(sum), exactDecimal(rest)))
}

// exactDecimal returns a double as a decimal with all its digits, up to 34, and no more: an integer gets no
// fraction.
func exactDecimal(f float64) bson.Decimal128 {
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', 33, 64), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exp)
	keep := len(strings.TrimRight(frac, "0"))
	if keep < e && e < len(frac) {
		keep = e // digits before the point
	}
	d, _ := decimal.Parse(whole + frac[:keep] + "E" + strconv.Itoa(e-keep))
	return d
}

// Sum returns the sum in the widest type of the added numbers: int32 0 without numbers, int64 if an int32
// overflows, double if an int64 overflows.
func (t *Summation) Sum(a *bson.Arena) bson.Value {
	switch t.widest {
	case 4:
		return a.Decimal(t.decimalSum())
	case 3:
		return a.Double(t.double())
	}
	n, ok := t.long()
	switch {
	case !ok:
		return a.Double(t.double())
	case t.widest == 2:
		return a.Int64(n)
	}
	return a.Int(n)
}

// Average returns the mean: a double, or a decimal if one was added; null without numbers.
func (t *Summation) Average(a *bson.Arena) bson.Value {
	switch {
	case t.count == 0:
		return bson.Null
	case t.hasDec && t.decimal.IsNaN():
		return a.Decimal(t.decimal)
	case t.hasDec:
		return a.Decimal(decimal.Quo(t.decimalSum(), decimal.FromInt64(t.count)))
	}
	return a.Double(t.double() / float64(t.count))
}

// Merge adds the sum of another Summation, such as a shard's partial sum.
func (t *Summation) Merge(o *Summation) {
	special := t.special + o.special
	t.addDouble(o.sum)
	t.addDouble(o.rest)
	t.addDouble(o.tail)
	t.special = special
	if o.hasDec {
		t.addDecimal(o.decimal)
	}
	t.widest = max(t.widest, o.widest)
	t.count += o.count
}

// Append appends the state of the sum as fields of an open document, so that another shard's or run's sum can
// be merged. ReadSummation is the inverse.
func (t *Summation) Append(b *bson.Builder) {
	b.Double("sum", t.sum)
	b.Double("rest", t.rest)
	b.Double("tail", t.tail)
	b.Double("special", t.special)
	b.Int64("count", t.count)
	b.Int32("widest", int32(t.widest))
	if t.hasDec {
		var a bson.Arena
		b.Value("decimal", a.Decimal(t.decimal))
	}
}

// ReadSummation reads what Append wrote.
func ReadSummation(d bson.Raw) (t Summation) {
	t.sum, _ = d.Get("sum").Double()
	t.rest, _ = d.Get("rest").Double()
	t.tail, _ = d.Get("tail").Double()
	t.special, _ = d.Get("special").Double()
	t.count, _ = d.Get("count").Int64()
	n, _ := d.Get("widest").Int32()
	t.widest = int(n)
	t.decimal, t.hasDec = d.Get("decimal").Decimal()
	return t
}

// Deviation holds the running mean and variance of numbers for $stdDevPop and $stdDevSamp (Welford's
// algorithm). The zero Deviation is ready to use.
// Manual: reference/operator/aggregation/stdDevPop.
type Deviation struct {
	count    int64
	mean, m2 float64
}

// Add adds v if it is a number.
func (d *Deviation) Add(v bson.Value) {
	f, ok := v.AsFloat()
	if !ok {
		return
	}
	d.count++
	delta := f - d.mean
	d.mean += delta / float64(d.count)
	d.m2 += delta * (f - d.mean)
}

// Remove subtracts a number that was added, when it leaves a moving window.
func (d *Deviation) Remove(v bson.Value) {
	f, ok := v.AsFloat()
	if !ok {
		return
	}
	if d.count--; d.count <= 0 {
		*d = Deviation{}
		return
	}
	delta := f - d.mean
	d.mean -= delta / float64(d.count)
	d.m2 = max(d.m2-delta*(f-d.mean), 0)
}

// Merge adds the numbers of another Deviation.
func (d *Deviation) Merge(o Deviation) {
	switch {
	case o.count == 0:
		return
	case d.count == 0: // an exact copy
		*d = o
		return
	}
	n := float64(d.count + o.count)
	delta := o.mean - d.mean
	d.m2 += o.m2 + delta*delta*float64(d.count)*float64(o.count)/n
	d.mean += delta * float64(o.count) / n
	d.count += o.count
}

// State returns the state as three numbers, so that it can be merged elsewhere; DeviationOf is the inverse.
func (d *Deviation) State() (count int64, mean, m2 float64) { return d.count, d.mean, d.m2 }

// DeviationOf is the inverse of State.
func DeviationOf(count int64, mean, m2 float64) Deviation { return Deviation{count, mean, m2} }

// Value returns the standard deviation of the numbers as a population; with sample, its estimate from a sample.
// It is null if there are too few numbers, NaN if a number is not finite.
func (d *Deviation) Value(a *bson.Arena, sample bool) bson.Value {
	n := d.count
	if sample {
		n--
	}
	if n <= 0 {
		return bson.Null
	}
	return a.Double(math.Sqrt(d.m2 / float64(n)))
}
