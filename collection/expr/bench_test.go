package expr_test

import (
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
)

func BenchmarkEval(b *testing.B) {
	doc := bsontest.Doc(b, `{_id: 1, a: 5, b: {c: [1, 2, 3, 4, 5, 6, 7, 8], d: "x"}, t: ISODate("2024-05-06T07:08:09Z"), s: "hello world", dec: Decimal128("1.25")}`)
	for _, c := range []struct{ name, text string }{
		{"add", `{$add: ["$a", 1]}`},
		{"path", `"$b.d"`},
		{"and", `{$and: [{$eq: ["$b.d", "x"]}, {$lt: ["$a", 9]}]}`},
		{"map", `{$map: {input: "$b.c", in: {$add: ["$$this", "$a"]}}}`},
		{"concat", `{$concat: ["$s", "-", "$b.d"]}`},
		{"date-trunc", `{$dateTrunc: {date: "$t", unit: "day", timezone: "Europe/Berlin"}}`},
		{"date-to-string", `{$dateToString: {date: "$t", format: "%Y-%m-%d"}}`},
		{"regex", `{$regexMatch: {input: "$s", regex: "w.r"}}`},
		{"decimal", `{$multiply: ["$dec", 3]}`},
		{"function", `{$function: {body: "function(a) { return a + 1 }", args: ["$a"], lang: "js"}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := bsontest.Value(b, c.text)
			env := newEnv(b.Context())
			e, err := expr.Parse(env, v)
			if err != nil {
				b.Fatal(err)
			}
			var s expr.Scratch
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				if _, err := e.Eval(env, doc, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
