package mql_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mql"
)

var fuzzedCollations = []string{
	`{locale: "vi@collation=traditional", caseFirst: "upper"}`, `{locale: "he", numericOrdering: true, strength: 4}`,
	`{locale: "en"}`, `{locale: "en", strength: 1, caseLevel: true}`, `{locale: "en", numericOrdering: true, strength: 5}`,
	`{locale: "fr_CA", strength: 2}`, `{locale: "en", alternate: "shifted", strength: 4}`, `{locale: "da"}`,
	`{locale: "ja", strength: 4}`, `{locale: "en_US_POSIX"}`, `{locale: "cs", alternate: "shifted", maxVariable: "space"}`,
}

func collations(t testing.TB) (list []*mql.Collation) {
	for _, s := range fuzzedCollations {
		v := bsontest.Value(t, s)
		c, err := mql.ParseCollation(v)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// FuzzCollation checks for strings of any bytes that each collation compares them as it compares their keys, that
// the comparison is antisymmetric, and that a string equals itself.
func FuzzCollation(f *testing.F) {
	for _, s := range []string{"", "a", "A\x00b", "\xff\xfe", "é", "e\u0301", "1٢", "007", "Straße", "ch", "日本ア"} {
		f.Add([]byte(s), []byte("a"))
		f.Add([]byte("x10"), []byte(s))
	}
	list := collations(f)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for i, c := range list {
			n, m := c.CompareText(a, b), c.CompareText(b, a)
			x, y := c.AppendKey(nil, a), c.AppendKey(nil, b)
			if n != -m || cmp.Compare(n, 0) != bytes.Compare(x, y) || c.CompareText(a, a) != 0 || !bytes.Equal(x, c.AppendKey(nil, a)) {
				t.Errorf("%s: %q and %q: %d, %d, keys %x %x", fuzzedCollations[i], a, b, n, m, x, y)
			}
		}
	})
}

// TestCollationLongText: keys of long strings take linear time.
func TestCollationLongText(t *testing.T) {
	for _, unit := range []string{"a", "\u0301", "e\u0301", "9", "ch", "\xff", "-"} {
		text := []byte(strings.Repeat(unit, 100_000))
		for i, c := range collations(t) {
			begin := time.Now()
			c.AppendKey(nil, text)
			if d := time.Since(begin); d > time.Minute {
				t.Errorf("%s of %q took %v", fuzzedCollations[i], unit, d)
			}
		}
	}
}

func BenchmarkCollation(b *testing.B) {
	for i, c := range collations(b)[:2] {
		b.Run(fuzzedCollations[i], func(b *testing.B) {
			dst, s := make([]byte, 0, 512), []byte("The quick brown fox 17")
			b.ReportAllocs()
			for b.Loop() {
				dst = c.AppendKey(dst[:0], s)
			}
		})
	}
}
