package bson_test

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

// kilobyte is a document of about 1 KiB with 15 fields of the usual types;
// status is the second to last.
func kilobyte(tb testing.TB) bson.Raw {
	d, err := ejson.Parse(`{_id: ObjectId("0102030405060708090a0b0c"), customer: "customer-000000012345", email: "somebody@example.com",
		age: 42, balance: 1234.5678, created: ISODate("2024-01-01"), updated: ISODate("2024-06-01"), active: true, visits: NumberLong(123456),
		address: {street: "221B Baker Street", city: "London", zip: "NW1 6XE", country: "GB", geo: {lat: 51.523767, lon: -0.1585557}},
		tags: ["alpha", "beta", "gamma", "delta"], orders: [{id: 1, sku: "ABC-1", qty: 5, price: 10.5}, {id: 2, sku: "ABC-2", qty: 1, price: 99.9}],
		notes: "` + text(430) + `", status: "active", last: null}`)
	if err != nil {
		tb.Fatal(err)
	}
	if len(d) < 950 || len(d) > 1100 || d.Len() != 15 {
		tb.Fatal(len(d), d.Len())
	}
	return d
}

func text(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b)
}

func BenchmarkLookup(b *testing.B) {
	d := kilobyte(b)
	for _, name := range []string{"_id", "age", "status", "nothing"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Lookup(name)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	d := kilobyte(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(d)))
	for b.Loop() {
		if _, err := bson.Parse(d, bson.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIter(b *testing.B) {
	d := kilobyte(b)
	for b.Loop() {
		n := 0
		for it := d.Iter(); it.Next(); {
			n += len(it.Name)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range [][3]string{{"int", "1", "2"}, {"mixed", "1", "1.5"}, {"string", `"abcdefgh"`, `"abcdefgi"`}, {"decimal", `Decimal128("1.50")`, `Decimal128("1.5")`}} {
		x := bsontest.Value(b, c[1])
		y := bsontest.Value(b, c[2])
		b.Run(c[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bson.Compare(x, y, nil)
			}
		})
	}
	d := kilobyte(b)
	b.Run("document", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bson.Compare(d.Value(), d.Value(), nil)
		}
	})
}

func BenchmarkBuilder(b *testing.B) {
	var out bson.Builder
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		out.Reset(buf[:0])
		out.Int32("ok", 1)
		out.String("name", "value")
		out.BeginArray("a")
		for i := range 3 {
			out.Int64("", int64(i))
		}
		out.End()
		out.Finish()
	}
}
