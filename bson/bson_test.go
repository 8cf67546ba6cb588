package bson_test

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

// ordered is ascending; values on one line are equal.
var ordered = [][]string{
	{"MinKey"},
	{"undefined"},
	{"null"},
	{"NaN", `Decimal128("NaN")`},
	{"-Infinity", `Decimal128("-Infinity")`},
	{`Decimal128("-1E+400")`},
	{"NumberLong(\"-9223372036854775808\")", "-9223372036854775808.0"},
	{"-1", "NumberLong(-1)", "-1.0", `Decimal128("-1")`, `Decimal128("-1.000")`},
	{"-0.5"},
	{"0", "-0.0", `Decimal128("0")`, `Decimal128("-0E+10")`},
	{`Decimal128("1E-6000")`},
	{`Decimal128("0.1")`},
	{"0.1"},
	{"1", "1.0", `Decimal128("1")`},
	{`Decimal128("1.0000000000000000000000001")`},
	{"9007199254740992", "9007199254740992.0"},
	{"9007199254740993"},
	{"NumberLong(\"9223372036854775807\")"},
	{"9223372036854775808.0", `Decimal128("9223372036854775808")`},
	{"1e300"},
	{`Decimal128("1E+6000")`},
	{"Infinity", `Decimal128("Infinity")`},
	{`""`}, {`"a"`, `Symbol("a")`}, {`"ab"`}, {`"b"`},
	{"{}"}, {"{b: 1}"}, {"{b: 1, a: 1}"}, {"{b: 2}"}, {"{c: 1}"}, {`{a: "x"}`},
	{"[]"}, {"[1]"}, {"[1, 2]"}, {"[2]"}, {`["a"]`},
	{`BinData(0, "")`}, {`BinData(0, "AA==")`}, {`BinData(5, "AA==")`}, {`BinData(0, "AAA=")`},
	{`ObjectId("000000000000000000000001")`}, {`ObjectId("000000000000000000000002")`},
	{"false"}, {"true"},
	{`ISODate("1950-01-01")`}, {`ISODate("2020-01-01")`},
	{"Timestamp(1, 2)"}, {"Timestamp(2, 1)"},
	{"/a/"}, {"/a/i"}, {"/b/"},
	{`Code("a")`},
	{"MaxKey"},
}

func TestCompareIsTheManualsOrder(t *testing.T) {
	var vs []bson.Value
	var rank []int
	var text []string
	for i, line := range ordered {
		for _, s := range line {
			v := bsontest.Value(t, s)
			vs, rank, text = append(vs, v), append(rank, i), append(text, s)
		}
	}
	for i := range vs {
		for j := range vs {
			want := 0
			if rank[i] < rank[j] {
				want = -1
			} else if rank[i] > rank[j] {
				want = 1
			}
			if got := bson.Compare(vs[i], vs[j], nil); got != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", text[i], text[j], got, want)
			}
		}
	}
}

func TestAllocsLookup(t *testing.T) {
	d := bsontest.Doc(t, `{_id: 1, a: "x", b: {c: [1, 2, 3]}, d: 5}`)
	n := testing.AllocsPerRun(100, func() {
		if v := d.Get("d"); v.Type != bson.TypeInt32 {
			t.Fatal(v.Type)
		}
		if _, ok := d.Lookup("e"); ok {
			t.Fatal("found e")
		}
		for it := d.Iter(); it.Next(); {
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParse requires that Parse never panics, and that a document that it accepts can be walked to the last byte,
// rebuilt identically, and compared with itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{a: 1, b: [1, {c: "x"}], d: /x/i}`, `{a: Code("x"), b: BinData(2, "AAAAAA==")}`} {
		if d, err := ejson.Parse(s); err == nil {
			f.Add([]byte(d))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bson.Parse(b, bson.Limits{})
		if err != nil {
			return
		}
		out := bson.NewBuilder(nil)
		n := 0
		for it := r.Iter(); it.Next(); n++ {
			out.ValueBytes(it.Name, it.Value)
		}
		if got := out.Doc(); string(got) != string(r) {
			t.Fatalf("rebuilt %x from %x", got, r)
		}
		if n != r.Len() || bson.Compare(r.Value(), r.Value(), nil) != 0 {
			t.Fatal("length or comparison with itself")
		}
		r.Depth()
	})
}
