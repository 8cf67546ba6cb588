package arguments

import (
	"math"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

// TestRoundedLong checks that doubles lose their fraction, decimals are rounded half to even, NaN is 0, and numbers
// out of range become the nearest int64.
func TestRoundedLong(t *testing.T) {
	for text, want := range map[string]int64{
		`1.9`: 1, `-1.9`: -1, `-0.9`: 0, `NaN`: 0, `Infinity`: math.MaxInt64, `-Infinity`: math.MinInt64,
		`NumberDecimal("0.5")`: 0, `NumberDecimal("1.5")`: 2, `NumberDecimal("2.5")`: 2, `NumberDecimal("-0.9")`: -1,
		`NumberDecimal("NaN")`: 0, `NumberDecimal("1E6000")`: math.MaxInt64, `NumberDecimal("-1E6000")`: math.MinInt64,
		`NumberDecimal("1E-6000")`: 0, `NumberLong("9007199254740993")`: 9007199254740993,
	} {
		d := bsontest.Doc(t, `{v: `+text+`}`)
		if n, ok := RoundedLong(d.Get("v")); !ok || n != want {
			t.Errorf("%s: got %d, %v, want %d", text, n, ok, want)
		}
	}
	d, _ := ejson.Parse(`{v: true}`)
	if _, ok := RoundedLong(d.Get("v")); ok {
		t.Error("a boolean is no number")
	}
}
