package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

func parsed(t testing.TB, s string) KeyPattern {
	t.Helper()
	k, err := ParseKeyPattern(bsontest.Doc(t, s))
	if err != nil {
		t.Fatal(s, err)
	}
	return k.WithSeed(42)
}

func TestParseKeyPattern(t *testing.T) {
	for spec, want := range map[string]Kind{
		`{a: "hashed"}`:                           Hashed,
		`{_id: "hashed"}`:                         Hashed,
		`{"a.b": "hashed"}`:                       Hashed,
		`{a: "hashed", b: "hashed"}`:              Hierarchical,
		`{a: "hashed", b: "hashed", c: "hashed"}`: Hierarchical,
		`{a: 1}`:                     Ranged,
		`{a: 1.0, b: NumberLong(1)}`: Ranged,
		`{a: NumberDecimal("1")}`:    Ranged,
		`{a: 1, b: "hashed"}`:        Ranged,
		`{a: "hashed", b: 1}`:        Ranged,
	} {
		if k := parsed(t, spec); k.Kind() != want || !bytes.Equal(k.Spec(), bsontest.Doc(t, spec)) {
			t.Errorf("%s is %v", spec, k.Kind())
		}
	}
	many := "{"
	for i := range 33 {
		many += fmt.Sprintf("f%d: 1, ", i)
	}
	for spec, want := range map[string]string{
		`{}`:                               "Shard key is empty",
		`{a: -1}`:                          `Shard key { a: -1 } can contain either a single 'hashed' field or multiple numerical fields set to a value of 1. Failed to parse field a`,
		`{a: -1.0}`:                        `Shard key { a: -1.0 } can`,
		`{a: 2}`:                           "Failed to parse field a",
		`{a: 1.5}`:                         "{ a: 1.5 }",
		`{a: true}`:                        "{ a: true }",
		`{a: "text"}`:                      `{ a: "text" }`,
		`{a: {}}`:                          "{ a: object }",
		`{a: NaN}`:                         "Failed to parse",
		`{a: Infinity}`:                    "Failed to parse",
		`{a: 1, b: -1}`:                    "Failed to parse field b",
		`{"a.": 1}`:                        "Field a. contains empty parts",
		`{"": 1}`:                          "contains empty parts",
		`{"a..b": 1}`:                      "contains empty parts",
		`{"$a": 1}`:                        "Field $a contains parts that start with '$'",
		`{"a.$b": 1}`:                      "parts that start with '$'",
		`{a: 1, "a.b": 1}`:                 "conflicting fields 'a' and 'a.b'",
		`{a: 1, b: "hashed", c: "hashed"}`: "at most one 'hashed' field",
		`{a: "hashed", b: "hashed", c: "hashed", d: "hashed"}`: "hierarchy of 2 to 3",
		many + "}": "more than 32 fields",
	} {
		_, err := ParseKeyPattern(bsontest.Doc(t, spec))
		if mongoerr.CodeOf(err) != mongoerr.BadValue || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestHashEquality requires that values which compare equal have the same position, and that the seed changes all
// positions.
func TestHashEquality(t *testing.T) {
	k := parsed(t, `{a: "hashed"}`)
	for _, same := range [][]string{
		{`1`, `1.0`, `NumberLong(1)`, `NumberDecimal("1")`, `NumberDecimal("1.00")`},
		{`0`, `-0.0`, `NumberLong(0)`},
		{`null`, `undefined`},
		{`{b: 1}`, `{b: 1.0}`},
	} {
		want := k.HashValue(bsontest.Value(t, same[0]))
		for _, s := range same {
			got, err := k.Hash(bsontest.Doc(t, "{a: "+s+", z: 1}"))
			if err != nil || got != want || k.HashValue(bsontest.Value(t, s)) != want {
				t.Errorf("%s at %v, %s at %v, %v", s, got, same[0], want, err)
			}
			if other, _ := k.WithSeed(43).Hash(bsontest.Doc(t, "{a: "+s+"}")); other == want {
				t.Errorf("%s: the seed does not matter", s)
			}
		}
	}
	seen := map[keyspace.Hash]string{}
	for _, s := range []string{`1`, `2`, `"1"`, `null`, `true`, `false`, `""`, `{}`, `{a: 1}`, `{$minKey: 1}`, `NaN`, `1.5`} {
		h := k.HashValue(bsontest.Value(t, s))
		if seen[h] != "" {
			t.Errorf("%s and %s share %v", s, seen[h], h)
		}
		seen[h] = s
	}
	for _, missing := range []string{`{}`, `{b: 1}`} {
		if h, err := k.Hash(bsontest.Doc(t, missing)); err != nil || h != k.HashValue(bson.Null) {
			t.Error("missing is not null")
		}
	}
	nested := parsed(t, `{"a.b": "hashed"}`)
	for _, missing := range []string{`{}`, `{a: 1}`, `{a: {}}`, `{a: {b: null}}`} {
		if h, err := nested.Hash(bsontest.Doc(t, missing)); err != nil || h != nested.HashValue(bson.Null) {
			t.Errorf("%s is not null: %v", missing, err)
		}
	}
}

// TestHashIsStable compares hashes with fixed ones. The hash is part of the stored format: changing it would move
// every document.
func TestHashIsStable(t *testing.T) {
	k := parsed(t, `{a: "hashed"}`)
	for s, want := range map[string]string{`1`: "6375c89f25539a90", `"redmond"`: "349aa1b43c34efc7", `null`: "bf19f4725757431d"} {
		if got := k.HashValue(bsontest.Value(t, s)).String(); got != want {
			t.Errorf("%s hashes to %s, want %s", s, got, want)
		}
	}
}

func TestArraysAreRefused(t *testing.T) {
	for _, spec := range []string{`{"a.b": "hashed"}`, `{"a.b": 1}`, `{"a.b": "hashed", c: "hashed"}`} {
		k := parsed(t, spec)
		for _, d := range []string{`{a: []}`, `{a: {b: [1]}}`, `{a: [{b: 1}]}`} {
			if _, err := k.AppendPosition(nil, bsontest.Doc(t, d)); mongoerr.CodeOf(err) != mongoerr.ShardKeyNotFound {
				t.Errorf("%s %s: %v", spec, d, err)
			}
			if p, _ := k.Missing(bsontest.Doc(t, d)); p == "a.b" {
				t.Errorf("%s %s: an array is not a missing key", spec, d)
			}
			if p, found := k.Array(bsontest.Doc(t, d)); !found || p != "a.b" {
				t.Errorf("%s %s: no array at %q", spec, d, p)
			}
		}
		if _, err := k.AppendPosition(nil, bsontest.Doc(t, `{a: {b: {c: [1]}}}`)); err != nil {
			t.Errorf("%s: an array inside the value: %v", spec, err)
		}
	}
	k := parsed(t, `{a: 1, "b.c": 1}`)
	if p, missing := k.Missing(bsontest.Doc(t, `{a: null, b: 1}`)); !missing || p != "b.c" {
		t.Error(p, missing)
	}
	if err := MissingKey("b.c"); err.Code != mongoerr.ShardKeyNotFound || err.Msg != "The document does not contain shard key at 'b.c'" {
		t.Error(err)
	}
}

// TestEqualRanges requires that EqualRanges, for values of the leading fields, returns a range that contains exactly
// the documents with these values.
func TestEqualRanges(t *testing.T) {
	for _, spec := range []string{
		`{a: "hashed"}`, `{a: "hashed", b: "hashed"}`, `{a: "hashed", b: "hashed", c: "hashed"}`,
		`{a: 1}`, `{a: 1, b: 1, c: 1}`, `{a: 1, b: "hashed"}`, `{a: "hashed", b: 1}`,
	} {
		k := parsed(t, spec)
		n := len(k.Fields())
		for i := range 4 {
			for j := range 4 {
				d := bsontest.Doc(t, fmt.Sprintf(`{a: %d, b: "%d", c: true}`, i, j))
				at, err := k.AppendPosition(nil, d)
				if err != nil {
					t.Fatal(err)
				}
				for x := range 4 {
					for y := range 4 {
						values := []bson.Value{bsontest.Value(t, fmt.Sprintf("%d.0", x)), bsontest.Value(t, fmt.Sprintf(`"%d"`, y)), bsontest.Value(t, "true")}[:n]
						for p := range n + 1 {
							want := (p < 1 || x == i) && (p < 2 || y == j)
							rs := k.EqualRanges(values[:p]...)
							r := rs[0]
							if r.Contains(at) != want || len(rs) != 1 {
								t.Fatalf("%s: %v in %+v of %d values is not %v", spec, ejson.String(d), r, p, want)
							}
							if k.Kind() != Ranged && p > 0 {
								lo, hi := r.Hashes()
								if (p == n) != (lo == hi) || p == n && k.AppendHashes(nil, values...)[0] != lo {
									t.Fatalf("%s: hashes %v %v of %d values", spec, lo, hi, p)
								}
							}
						}
					}
				}
			}
		}
	}
}

// Ranged positions are in the order of the values.
func TestRangedOrder(t *testing.T) {
	k := parsed(t, `{a: 1, b: 1}`)
	var before []byte
	for _, d := range []string{
		`{a: {$minKey: 1}}`, `{}`, `{a: null, b: 5}`, `{a: -3}`, `{a: 1, b: "x"}`, `{a: 1.5}`, `{a: NumberLong(20), b: 1}`,
		`{a: 20, b: 2}`, `{a: ""}`, `{a: "x"}`, `{a: "xa"}`, `{a: {$maxKey: 1}}`,
	} {
		at, err := k.AppendPosition(nil, bsontest.Doc(t, d))
		if err != nil || bytes.Compare(before, at) >= 0 {
			t.Errorf("%s does not follow: %v", d, err)
		}
		before = at
	}
}

func TestUnsharded(t *testing.T) {
	var k KeyPattern
	h, err := k.Hash(bsontest.Doc(t, `{a: [1]}`))
	at, err2 := k.AppendPosition(nil, bsontest.Doc(t, `{}`))
	if h != keyspace.HashMin || err != nil || err2 != nil || !bytes.Equal(at, make([]byte, 8)) || !k.IsZero() || k.Kind() != Unsharded {
		t.Error(h, err, at, err2)
	}
	if r := k.EqualRanges(bsontest.Value(t, "1"))[0]; r.Lo != nil || r.Hi != nil {
		t.Error("an unsharded collection has no ranges")
	}
}

func TestKeyHelpers(t *testing.T) {
	k := parsed(t, `{"a.b": "hashed", c: "hashed"}`)
	b := bson.NewBuilder(nil)
	k.AppendValues(b, bsontest.Doc(t, `{_id: 1, a: {b: "x"}}`))
	if got := ejson.String(b.Doc()); got != ejson.String(bsontest.Doc(t, `{"a.b": "x", c: null}`)) {
		t.Error(got)
	}
	if p, changed := k.Changed(bsontest.Doc(t, `{a: {b: 1}, x: 1}`), bsontest.Doc(t, `{a: {b: 1.0}, c: null}`)); changed {
		t.Error("Changed", p)
	}
	if p, changed := k.Changed(bsontest.Doc(t, `{a: {b: 1}, c: 1}`), bsontest.Doc(t, `{a: {b: 1}, c: 2}`)); !changed || p != "c" {
		t.Error("not Changed", p)
	}
	if !bytes.Equal(k.AppendLogical(nil, bsontest.Doc(t, `{a: {b: 1}}`)), k.AppendLogical(nil, bsontest.Doc(t, `{c: null, a: {b: 1.0}}`))) {
		t.Error("AppendLogical")
	}
	for index, want := range map[string]bool{
		`{"a.b": 1, c: 1}`: true, `{"a.b": 1, c: -1, d: 1}`: true, `{"a.b": 1}`: false, `{c: 1, "a.b": 1}`: false,
		`{"a.b": "hashed", c: 1}`: false,
	} {
		if k.IsPrefixOf(bsontest.Doc(t, index)) != want {
			t.Errorf("%s: not %v", index, want)
		}
	}
	if !parsed(t, `{_id: "hashed"}`).IsID() || k.IsID() || (KeyPattern{}).IsID() {
		t.Error("IsID")
	}
	if k.String() != `{ a.b: "hashed", c: "hashed" }` {
		t.Error(k.String())
	}
}

// TestHashSpreads requires that sequential values spread evenly: no shard of eight has a share that is more than 10
// % off.
func TestHashSpreads(t *testing.T) {
	k := parsed(t, `{a: "hashed"}`)
	m, err := NewMap(Hashed, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[ID]int{}
	for i := range 16_000 {
		d := bson.NewBuilder(nil)
		d.Int32("a", int32(i))
		h, _ := k.Hash(d.Doc())
		counts[m.Find(h, nil).ID]++
	}
	for id, n := range counts {
		if n < 1800 || n > 2200 {
			t.Errorf("shard %v has %d of 16 000", id, n)
		}
	}
}

func TestAllocsHash(t *testing.T) {
	if raceDetector {
		t.Skip("pools are unreliable under the race detector")
	}
	k := parsed(t, `{"a.b": "hashed", c: "hashed"}`)
	m, _ := NewMap(Hierarchical, 1, 16)
	d := bsontest.Doc(t, `{_id: 1, a: {b: "some text"}, c: 5}`)
	if n := testing.AllocsPerRun(200, func() {
		h, _ := k.Hash(d)
		m.Find(h, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHash(b *testing.B) {
	b.ReportAllocs()
	k := parsed(b, `{a: "hashed"}`)
	d := bsontest.Doc(b, `{_id: 1, a: "some text"}`)
	for b.Loop() {
		k.Hash(d)
	}
}

// Hash accepts a shard key value of 1 MiB, and does not keep the buffer of this size for reuse.
func TestHugeKey(t *testing.T) {
	k := parsed(t, `{a: "hashed"}`)
	b := bson.NewBuilder(nil)
	b.String("a", strings.Repeat("x", 1<<20))
	if _, err := k.Hash(b.Doc()); err != nil {
		t.Fatal(err)
	}
	if buf, _ := k.p.scratch.Get().(*[]byte); buf != nil && cap(*buf) > scratchMax {
		t.Errorf("a buffer of %d bytes is kept", cap(*buf))
	}
}

// randomDoc returns a document with random values of the shard key fields a and b, for tests of maps.
func randomDoc(r *rand.Rand) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int64("a", r.Int64N(1000))
	b.String("b", fmt.Sprint(r.IntN(50)))
	return b.Doc()
}
