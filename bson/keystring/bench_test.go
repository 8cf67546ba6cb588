package keystring_test

import (
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/keystring"
)

func BenchmarkAppend(b *testing.B) {
	for _, c := range [][2]string{
		{"int32", "123456"}, {"int64", `NumberLong("9007199254740993")`}, {"double", "0.1"}, {"decimal", `Decimal128("12.34")`},
		{"decimal34", `Decimal128("1.234567890123456789012345678901234")`}, {"string20", `"abcdefghijklmnopqrst"`},
		{"objectid", `ObjectId("0102030405060708090a0b0c")`}, {"doc", `{a: 1, b: "x", c: [1, 2]}`},
	} {
		v := bsontest.Value(b, c[1])
		b.Run(c[0], func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 200)
			var tb keystring.TypeBits
			for b.Loop() {
				tb.Reset()
				buf = keystring.Append(buf[:0], v, keystring.Ascending, nil, &tb)
			}
		})
	}
}

func BenchmarkSkip(b *testing.B) {
	key := keystring.Append(nil, bsontest.Value(b, `"abcdefghijklmnopqrst"`), keystring.Ascending, nil, nil)
	for b.Loop() {
		if _, err := keystring.Skip(key, keystring.Ascending); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAllocsAppend(t *testing.T) {
	v := bsontest.Value(t, `{a: 1, b: "x", c: [1.5, Decimal128("12.34"), NumberLong(5)], d: ObjectId("0102030405060708090a0b0c")}`)
	buf := make([]byte, 0, 400)
	var tb keystring.TypeBits
	n := testing.AllocsPerRun(100, func() {
		tb.Reset()
		buf = keystring.Append(buf[:0], v, keystring.Descending, nil, &tb)
		if _, err := keystring.Skip(buf, keystring.Descending); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
