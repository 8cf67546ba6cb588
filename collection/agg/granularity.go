package agg

import (
	"math"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// granularity rounds the boundaries of $bucketAuto to preferred numbers: a
// series of numbers times any power of ten, or powers of two.
// Manual: reference/operator/aggregation/bucketAuto#granularity.
type granularity struct {
	name   string
	series []float64 // ascending; nil for powers of two
}

// granularityOf returns a granularity by its name; nil if there is none.
func granularityOf(name string) *granularity {
	switch name {
	case "POWERSOF2":
		return &granularity{name: name}
	case "R5":
		return &granularity{name, []float64{10, 16, 25, 40, 63}}
	case "R10":
		return &granularity{name, []float64{100, 125, 160, 200, 250, 315, 400, 500, 630, 800}}
	case "R20":
		return &granularity{name, []float64{100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900}}
	case "R40":
		return &granularity{name, []float64{100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250, 265, 280, 300,
			315, 335, 355, 375, 400, 425, 450, 475, 500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950}}
	case "R80":
		return &granularity{name, []float64{103, 109, 115, 122, 128, 136, 145, 155, 165, 175, 185, 195, 206, 218, 230, 243, 258, 272, 290, 307,
			325, 345, 365, 387, 412, 437, 462, 487, 515, 545, 575, 615, 650, 690, 730, 775, 825, 875, 925, 975}}
	case "1-2-5":
		return &granularity{name, []float64{10, 20, 50}}
	case "E6":
		return &granularity{name, []float64{10, 15, 22, 33, 47, 68}}
	case "E12":
		return &granularity{name, []float64{10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82}}
	case "E24":
		return &granularity{name, []float64{10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91}}
	case "E48":
		return &granularity{name, geometric(48)}
	case "E96":
		return &granularity{name, geometric(96)}
	case "E192":
		return &granularity{name, geometric(192)}
	}
	return nil
}

// geometric returns an E series of three digits: n numbers in geometric progression.
func geometric(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Round(100 * math.Pow(10, float64(i)/float64(n)))
		if out[i] == 919 {
			out[i] = 920 // the standard's exception
		}
	}
	return out
}

// check rejects a value that cannot be a boundary of $bucketAuto with a granularity: no number, NaN or
// negative.
//
// Errors: 40258, 40259, 40260.
func (g *granularity) check(v bson.Value) error {
	f, ok := v.AsFloat()
	switch {
	case !ok:
		return mongoerr.New(40258, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: %s", v.Type)
	case math.IsNaN(f):
		return mongoerr.New(40259, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN")
	case f < 0:
		return mongoerr.New(40260, "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number")
	}
	return nil
}

// up returns the next preferred number above v; 0 and infinity stay.
func (g *granularity) up(a *bson.Arena, v bson.Value) bson.Value {
	f, _ := v.AsFloat()
	if f == 0 || math.IsInf(f, 0) {
		return v
	}
	if g.series == nil {
		_, e := math.Frexp(f) // f = m * 2^e with m in [0.5, 1)
		return power(a, v, math.Ldexp(1, e))
	}
	m, ten := g.decade(f)
	at := sort.Search(len(g.series), func(i int) bool { return g.series[i] > m })
	if at == len(g.series) {
		return like(a, v, scale(g.series[0], ten+1))
	}
	return like(a, v, scale(g.series[at], ten))
}

// down returns the next preferred number below v; 0 and infinity stay.
func (g *granularity) down(a *bson.Arena, v bson.Value) bson.Value {
	f, _ := v.AsFloat()
	if f == 0 || math.IsInf(f, 0) {
		return v
	}
	if g.series == nil {
		m, e := math.Frexp(f)
		if m == 0.5 {
			e--
		}
		return power(a, v, math.Ldexp(1, e-1))
	}
	m, ten := g.decade(f)
	at := sort.Search(len(g.series), func(i int) bool { return g.series[i] >= m })
	if at == 0 {
		return like(a, v, scale(g.series[len(g.series)-1], ten-1))
	}
	return like(a, v, scale(g.series[at-1], ten))
}

// decade returns f as m times ten to the power ten, with m between the first number of the series' decade (10
// or 100) and ten times that number.
func (g *granularity) decade(f float64) (m float64, ten int) {
	base := 10.0
	if g.series[0] >= 100 {
		base = 100
	}
	up := 0 // the logarithm of the smallest doubles is inexact, so it is computed of a multiple
	if f < 1e-300 {
		up = 20
	}
	ten = int(math.Floor(math.Log10(scale(f, up)/base))) - up
	// The logarithm may be off by one.
	switch m = scale(f, -ten); {
	case m >= base*10:
		ten++
	case m < base:
		ten--
	}
	return scale(f, -ten), ten
}

// scale multiplies f by a power of ten. For negative powers it divides, which is exact more often. It applies
// powers beyond the range of a double in two steps.
func scale(f float64, ten int) float64 {
	switch {
	case ten < -tenMax:
		return scale(f, -tenMax) / math.Pow(10, float64(-ten-tenMax))
	case ten < 0:
		return f / math.Pow(10, float64(-ten))
	case ten > tenMax:
		return scale(f, tenMax) * math.Pow(10, float64(ten-tenMax))
	}
	return f * math.Pow(10, float64(ten))
}

// tenMax is the greatest power of ten that is a double.
const tenMax = 308

// power returns the power of two f as a value: an integer if v is an integer and f has no fraction.
func power(a *bson.Arena, v bson.Value, f float64) bson.Value {
	if n := int64(f); v.Type == bson.TypeInt32 && float64(n) == f {
		return a.Int(n)
	} else if v.Type == bson.TypeInt64 && float64(n) == f {
		return a.Int64(n)
	}
	return like(a, v, f)
}

// like returns f as a decimal if v is one, otherwise as a double.
func like(a *bson.Arena, v bson.Value, f float64) bson.Value {
	if v.Type == bson.TypeDecimal128 {
		return a.Decimal(decimal.FromFloat64(f))
	}
	return a.Double(f)
}
