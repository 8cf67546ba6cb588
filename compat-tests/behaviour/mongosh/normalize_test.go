package mongosh

import (
	"testing"
	"time"
)

func TestNormalize(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"{ a: ObjectId('6b007a015e23eb68e1f6904d'), b: ObjectId('6b007a015e23eb68e1f6904e'), c: ObjectId('6b007a015e23eb68e1f6904d') }": "{ a: ObjectId(1), b: ObjectId(2), c: ObjectId(1) }",
		"UUID('00112233-4455-6677-8899-aabbccddeeff')":                     "UUID(1)",
		"ISODate('2026-05-01T11:59:59.123Z')":                              "ISODate(now)",
		"ISODate('2017-05-01T00:00:00.000Z')":                              "ISODate('2017-05-01T00:00:00.000Z')",
		"Timestamp({ t: 1777636800, i: 4 }) and Timestamp({ t: 1, i: 1 })": "Timestamp(now) and Timestamp({ t: 1, i: 1 })",
		"mongodb://127.0.0.1:43210/":                                       "mongodb://127.0.0.1:port/",
	} {
		if got := normalize(in, now); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	a, b := &script{name: "a"}, &script{name: "b"}
	rest := split("noise\n@@ begin a\n1\n2\n@@ end a\n@@ begin b\n3\nlast words\n", []*script{a, b})
	if a.output != "1\n2\n" || !a.ran || b.output != "3\nlast words\n" || b.ran || rest != "noise\n" {
		t.Errorf("a %+v, b %+v, rest %q", a, b, rest)
	}
}
