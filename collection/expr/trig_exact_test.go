package expr

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// TestExactTrig: the results of the trigonometric functions are the doubles nearest to the results of the
// decimal functions, which have 34 digits. The arguments have few bits, so that a decimal represents them
// exactly.
func TestExactTrig(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dec := func(f float64) bson.Decimal128 {
		d, ok := decimal.Parse(strconv.FormatFloat(f, 'f', 20, 64)) // all its digits
		if !ok {
			t.Fatal(f)
		}
		return d
	}
	check := func(name string, got float64, want bson.Decimal128) {
		t.Helper()
		w, err := strconv.ParseFloat(want.String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got != w {
			t.Errorf("%s: %v, want %v (%s)", name, got, w, want)
		}
	}
	const unit = 1 << 20
	for range 3000 {
		angle := float64(rnd.IntN(200*unit)-100*unit) / unit
		ratio := float64(rnd.IntN(2*unit)-unit) / unit
		y := float64(rnd.IntN(200*unit)-100*unit) / unit
		name := strconv.FormatFloat(angle, 'g', -1, 64)
		check("sin "+name, exactSin(angle), decimal.Sin(dec(angle)))
		check("cos "+name, exactCos(angle), decimal.Cos(dec(angle)))
		check("tan "+name, exactTan(angle), decimal.Tan(dec(angle)))
		check("atan "+name, exactAtan(angle), decimal.Atan(dec(angle)))
		check("atan2 "+name, exactAtan2(y, angle), decimal.Atan2(dec(y), dec(angle)))
		name = strconv.FormatFloat(ratio, 'g', -1, 64)
		check("asin "+name, exactAsin(ratio), decimal.Asin(dec(ratio)))
		check("acos "+name, exactAcos(ratio), decimal.Acos(dec(ratio)))
	}
}

// TestExactTrigEdges: arguments for which package math computes the result.
func TestExactTrigEdges(t *testing.T) {
	negative := math.Copysign(0, -1)
	for i, x := range []struct{ got, want float64 }{
		{exactSin(negative), negative}, {exactTan(negative), negative}, {exactAtan(negative), negative}, {exactCos(0), 1},
		{exactAtan2(negative, -1), -math.Pi}, {exactAtan2(0, -1), math.Pi}, {exactAtan2(1e300, 1e-300), math.Pi / 2},
		{exactAsin(1), math.Pi / 2}, {exactAsin(-1), -math.Pi / 2}, {exactAcos(1), 0}, {exactAcos(-1), math.Pi},
		{exactSin(1e22), math.Sin(1e22)}, {exactAtan(math.Inf(1)), math.Pi / 2}, {exactAtan2(1, 0), math.Pi / 2},
	} {
		if x.got != x.want || math.Signbit(x.got) != math.Signbit(x.want) {
			t.Errorf("%d: %v, want %v", i, x.got, x.want)
		}
	}
	for i, x := range []float64{exactSin(math.NaN()), exactTan(math.NaN()), exactAcos(math.NaN()), exactAtan2(math.NaN(), 1), exactCos(math.Inf(1))} {
		if x == x {
			t.Errorf("%d: %v of no number", i, x)
		}
	}
}

func BenchmarkExactTan(b *testing.B) {
	for i := range b.N {
		exactTan(float64(i%100) / 7)
	}
}
