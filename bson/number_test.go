package bson_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

// exact returns the value of a finite number.
func exact(v bson.Value) *big.Rat {
	if d, ok := v.Decimal(); ok {
		return d.Rat()
	}
	if n, ok := v.Int64(); ok {
		return new(big.Rat).SetInt64(n)
	}
	f, _ := v.Double()
	return new(big.Rat).SetFloat64(f)
}

// number returns a random finite number of any type, often close to near.
func number(r *rand.Rand, a *bson.Arena, near int64) bson.Value {
	n := near + int64(r.IntN(3)) - 1
	if r.IntN(3) == 0 {
		n = int64(r.Uint64()) >> r.IntN(64)
	}
	switch r.IntN(6) {
	case 0:
		return a.Int32(int32(n))
	case 1:
		return a.Int64(n)
	case 2:
		return a.Double(float64(n))
	case 3:
		return a.Double(float64(n) / float64(1+r.IntN(16)))
	case 4:
		k := r.IntN(4)
		u := uint64(max(n, -n) & (1<<50 - 1))
		for range k {
			u *= 10
		}
		return a.Decimal(bson.ComposeDecimal(n < 0, 0, u, -k))
	}
	return a.Decimal(bson.ComposeDecimal(r.IntN(2) == 0, r.Uint64N(0x1ed09bead87c0)>>r.IntN(50), r.Uint64()>>r.IntN(64), r.IntN(60)-40))
}

func TestCompareNumbersIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a bson.Arena
	for i := range 100_000 {
		if i%1000 == 0 {
			a.Reset()
		}
		near := int64(r.Uint64()) >> r.IntN(64)
		x, y := number(r, &a, near), number(r, &a, near)
		if got, want := bson.CompareNumbers(x, y), exact(x).Cmp(exact(y)); got != want {
			t.Fatalf("%s and %s compare %d, want %d", ejson.ValueCanonical(x), ejson.ValueCanonical(y), got, want)
		}
	}
}

func TestIntegerConversions(t *testing.T) {
	for _, c := range []struct {
		text        string
		trunc       int64
		whole, isIn bool // AsInt64 succeeds; it is a number
	}{
		{"1", 1, true, true}, {"1.5", 1, false, true}, {"-1.5", -1, false, true}, {"1e300", math.MaxInt64, false, true},
		{"-Infinity", math.MinInt64, false, true}, {"NaN", 0, false, true}, {`"1"`, 0, false, false},
		{`Decimal128("9223372036854775807")`, math.MaxInt64, true, true}, {`Decimal128("9223372036854775806.5")`, math.MaxInt64 - 1, false, true},
		{`Decimal128("9223372036854775808")`, math.MaxInt64, false, true}, {`Decimal128("-1E+6000")`, math.MinInt64, false, true},
		{`Decimal128("1E-6000")`, 0, false, true}, {`Decimal128("NaN")`, 0, false, true}, {`Decimal128("12.00")`, 12, true, true},
		{`Decimal128("-0.9")`, 0, false, true}, {`Decimal128("0E+6000")`, 0, true, true}, {"9223372036854775808.0", math.MaxInt64, false, true},
	} {
		v := bsontest.Value(t, c.text)
		n, ok := v.TruncInt64()
		if ok != c.isIn || n != c.trunc {
			t.Errorf("TruncInt64(%s) = %d, %v", c.text, n, ok)
		}
		if n, ok := v.AsInt64(); ok != c.whole || ok && n != c.trunc {
			t.Errorf("AsInt64(%s) = %d, %v", c.text, n, ok)
		}
	}
}

func TestAllocsCompareAndParse(t *testing.T) {
	d := kilobyte(t)
	x, _ := ejson.ParseValue(`Decimal128("1.50")`)
	y, _ := ejson.ParseValue(`Decimal128("1.5")`)
	z, _ := ejson.ParseValue(`1.5`)
	n := testing.AllocsPerRun(100, func() {
		if _, err := bson.Parse(d, bson.Limits{}); err != nil {
			t.Fatal(err)
		}
		if bson.Compare(d.Value(), d.Value(), nil) != 0 || bson.Compare(x, y, nil) != 0 || bson.Compare(z, z, nil) != 0 {
			t.Fatal("not equal")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCompare checks the laws of a total order.
func FuzzCompare(f *testing.F) {
	for _, s := range []string{`{}`, `{a: 1, b: 1.5, c: "x"}`, `{a: [1, {b: 2}], b: null, c: Decimal128("1.50")}`, `{a: /x/, b: Code("x"), c: BinData(2, "AAAAAA==")}`} {
		d := bsontest.Doc(f, s)
		f.Add([]byte(d), []byte(d), []byte(d))
	}
	f.Fuzz(func(t *testing.T, x, y, z []byte) {
		var v []bson.Value
		for _, b := range [][]byte{x, y, z} {
			r, err := bson.Parse(b, bson.Limits{})
			if err != nil {
				return
			}
			v = append(v, r.Value())
			for it := r.Iter(); it.Next() && len(v) < 12; {
				v = append(v, it.Value)
			}
		}
		for _, a := range v {
			if bson.Compare(a, a, nil) != 0 {
				t.Fatalf("%s differs from itself", ejson.ValueString(a))
			}
			for _, b := range v {
				ab := bson.Compare(a, b, nil)
				if ab != -bson.Compare(b, a, nil) {
					t.Fatalf("%s and %s: no antisymmetry", ejson.ValueString(a), ejson.ValueString(b))
				}
				for _, c := range v {
					if ab <= 0 && bson.Compare(b, c, nil) <= 0 && bson.Compare(a, c, nil) > 0 {
						t.Fatalf("%s, %s, %s: no transitivity", ejson.ValueString(a), ejson.ValueString(b), ejson.ValueString(c))
					}
				}
			}
		}
	})
}
