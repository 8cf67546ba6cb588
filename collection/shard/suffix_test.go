package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

func TestParseSuffix(t *testing.T) {
	for spec, want := range map[string]Kind{
		`{day: "hashed", vin: {buckets: 400}}`:                            Hashed,
		`{day: "hashed", "v.n": {buckets: 400.0}}`:                        Hashed,
		`{day: "hashed", _id: {buckets: NumberLong(8192)}}`:               Hashed,
		`{t: "hashed", day: "hashed", vin: {buckets: 2}}`:                 Hierarchical,
		`{t: "hashed", u: "hashed", day: "hashed", vin: {buckets: 1000}}`: Hierarchical,
	} {
		k := parsed(t, spec)
		if k.Kind() != want || k.Levels() != len(k.Fields())-1 || k.IsID() {
			t.Errorf("%s is %v of %d levels", spec, k.Kind(), k.Levels())
		}
	}
	if s := parsed(t, `{day: "hashed", vin: {buckets: 400}}`).String(); s != `{ day: "hashed", vin: { buckets: 400 } }` {
		t.Error(s)
	}
	for spec, want := range map[string]string{
		`{day: "hashed", vin: {buckets: 1}}`:                                    "2 to 8192 buckets",
		`{day: "hashed", vin: {buckets: 8193}}`:                                 "2 to 8192 buckets",
		`{day: "hashed", vin: {buckets: 2.5}}`:                                  "2 to 8192 buckets",
		`{day: "hashed", vin: {buckets: "4"}}`:                                  "2 to 8192 buckets",
		`{day: "hashed", vin: {bucket: 4}}`:                                     "Failed to parse field vin",
		`{day: "hashed", vin: {buckets: 4, x: 1}}`:                              "Failed to parse field vin",
		`{day: "hashed", vin: [4]}`:                                             "Failed to parse field vin",
		`{vin: {buckets: 4}, day: "hashed"}`:                                    "only as its last field",
		`{day: "hashed", vin: {buckets: 4}, x: {buckets: 4}}`:                   "only as its last field",
		`{vin: {buckets: 4}}`:                                                   "only behind 'hashed' fields",
		`{day: 1, vin: {buckets: 4}}`:                                           "only behind 'hashed' fields",
		`{day: 1, x: "hashed", vin: {buckets: 4}}`:                              "only behind 'hashed' fields",
		`{day: "hashed", day: {buckets: 4}}`:                                    "conflicting fields",
		`{day: "hashed", "day.x": {buckets: 4}}`:                                "conflicting fields",
		`{a: "hashed", b: "hashed", c: "hashed", d: "hashed", e: {buckets: 4}}`: "hierarchy of 2 to 3",
	} {
		_, err := ParseKeyPattern(bsontest.Doc(t, spec))
		if mongoerr.CodeOf(err) != mongoerr.BadValue || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestWithSuffix(t *testing.T) {
	key := bsontest.Doc(t, `{day: "hashed"}`)
	for suffix, want := range map[string]string{
		`{from: "vin", buckets: 400}`:              `{day: "hashed", vin: {buckets: 400}}`,
		`{buckets: 8.0, from: "a.b"}`:              `{day: "hashed", "a.b": {buckets: 8.0}}`,
		`{random: true, buckets: 400}`:             `{day: "hashed", _id: {buckets: 400}}`,
		`{from: "_id", buckets: 400}`:              `{day: "hashed", _id: {buckets: 400}}`,
		`{random: false, from: "vin", buckets: 3}`: `{day: "hashed", vin: {buckets: 3}}`,
	} {
		got, err := WithSuffix(key, bsontest.Doc(t, suffix))
		if err != nil || ejson.String(got) != ejson.String(bsontest.Doc(t, want)) {
			t.Errorf("%s: %s %v", suffix, got, err)
		}
	}
	for suffix, want := range map[string]mongoerr.Code{
		`{}`:                          mongoerr.BadValue,
		`{buckets: 4}`:                mongoerr.BadValue,
		`{from: "", buckets: 4}`:      mongoerr.BadValue,
		`{random: false, buckets: 4}`: mongoerr.BadValue,
		`{random: true, from: "vin", buckets: 4}`: mongoerr.BadValue,
		`{from: 1, buckets: 4}`:                   mongoerr.TypeMismatch,
		`{random: 1, buckets: 4}`:                 mongoerr.TypeMismatch,
		`{from: "vin"}`:                           mongoerr.IDLFailedToParse,
		`{from: "vin", buckets: 4, seed: 1}`:      mongoerr.IDLUnknownField,
	} {
		if _, err := WithSuffix(key, bsontest.Doc(t, suffix)); mongoerr.CodeOf(err) != want {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}

// TestSuffixPositions requires that a document is at the position of its value and bucket, and that the value alone
// gives the positions of all its buckets, and no others.
func TestSuffixPositions(t *testing.T) {
	for _, spec := range []string{
		`{day: "hashed", vin: {buckets: 16}}`,
		`{t: "hashed", day: "hashed", vin: {buckets: 16}}`,
		`{t: "hashed", u: "hashed", day: "hashed", vin: {buckets: 16}}`,
	} {
		k := parsed(t, spec)
		values := func(d bson.Raw) (out []bson.Value) {
			for _, f := range k.Fields() {
				out = append(out, d.Get(f.Path.String()))
			}
			return out
		}
		for day := range 3 {
			days := k.AppendHashes(nil, values(bsontest.Doc(t, fmt.Sprintf(`{t: 1, u: 2, day: "d%d"}`, day)))[:k.Levels()]...)
			slices.Sort(days)
			if days = slices.Compact(days); len(days) != 16 {
				t.Fatalf("%s: %d positions", spec, len(days))
			}
			met := map[keyspace.Hash]bool{}
			buckets := map[string]keyspace.Hash{}
			for n := range 400 {
				d := bsontest.Doc(t, fmt.Sprintf(`{t: 1, u: 2, day: "d%d", vin: %d}`, day, n))
				h, err := k.Hash(d)
				if err != nil || k.AppendHashes(nil, values(d)...)[0] != h {
					t.Fatal(spec, h, err)
				}
				if _, of := slices.BinarySearch(days, h); !of {
					t.Fatalf("%s: %v is not of day %d", spec, h, day)
				}
				met[h] = true
				logical := string(k.AppendLogical(nil, d))
				if string(k.AppendLogicalOf(nil, values(d))) != logical {
					t.Fatal("two names of a logical partition")
				}
				if at, known := buckets[logical]; known && at != h {
					t.Fatalf("%s: a logical partition in two places", spec)
				}
				buckets[logical] = h
			}
			if len(met) != 16 || len(buckets) != 16 {
				t.Errorf("%s: %d of 16 buckets are used, %d logical partitions", spec, len(met), len(buckets))
			}
			all := 0
			for _, r := range k.EqualRanges(values(bsontest.Doc(t, fmt.Sprintf(`{t: 1, u: 2, day: "d%d"}`, day)))[:k.Levels()]...) {
				lo, hi := r.Hashes()
				if lo != hi || !met[lo] {
					t.Errorf("%s: range %+v", spec, r)
				}
				all++
			}
			if all != 16 {
				t.Errorf("%s: %d ranges", spec, all)
			}
		}
		if prefix := k.EqualRanges(bsontest.Value(t, "1")); len(prefix) != 1 && k.Levels() > 1 {
			t.Errorf("%s: a prefix of the levels is one range, not %d", spec, len(prefix))
		}
	}
}

// TestSuffixSpreadsEvenly requires that the buckets of one value fall evenly on shards of equal size: each has its
// share, rounded up at most. With fewer buckets than shards, each bucket is on a shard of its own.
func TestSuffixSpreadsEvenly(t *testing.T) {
	for _, c := range []struct{ buckets, shards int }{{8, 8}, {16, 8}, {400, 8}, {400, 16}, {2, 8}, {8192, 64}} {
		k := parsed(t, fmt.Sprintf(`{day: "hashed", vin: {buckets: %d}}`, c.buckets))
		m, err := NewMap(Hashed, 1, c.shards)
		if err != nil {
			t.Fatal(err)
		}
		on := map[ID]int{}
		for _, h := range k.AppendHashes(nil, bsontest.Value(t, `"2026-11-22"`)) {
			on[m.Find(h, nil).ID]++
		}
		if len(on) != min(c.buckets, c.shards) {
			t.Errorf("%d buckets on %d of %d shards", c.buckets, len(on), c.shards)
		}
		for id, n := range on {
			if n > (c.buckets+c.shards-1)/c.shards {
				t.Errorf("shard %v has %d of %d buckets", id, n, c.buckets)
			}
		}
	}
}

// TestSuffixIsStable compares positions with fixed ones. The hash is part of the stored format: changing it would
// move every document.
func TestSuffixIsStable(t *testing.T) {
	k := parsed(t, `{day: "hashed", vin: {buckets: 400}}`)
	for s, want := range map[string]string{
		`{day: 1, vin: "A"}`: "75614dbddda58615",
		`{day: 1}`:           "0f9ebe61b4afc385",
		`{vin: "A"}`:         "d10579910fa92ea2",
	} {
		if h, err := k.Hash(bsontest.Doc(t, s)); err != nil || h.String() != want {
			t.Errorf("%s lies at %s, want %s, %v", s, h, want, err)
		}
	}
}

func TestSuffixHelpers(t *testing.T) {
	k := parsed(t, `{day: "hashed", vin: {buckets: 4}}`)
	d := func(vin int) bson.Raw { return bsontest.Doc(t, fmt.Sprintf(`{_id: 7, day: 1, vin: %d}`, vin)) }
	near, far := 0, 0
	for n := 1; near == 0 || far == 0; n++ {
		a, _ := k.Hash(d(0))
		if b, _ := k.Hash(d(n)); a == b {
			near = n
		} else {
			far = n
		}
	}
	if p, changed := k.Changed(d(0), d(near)); changed {
		t.Error("a value of the same bucket is another key:", p)
	}
	if p, changed := k.Changed(d(0), d(far)); !changed || p != "vin" {
		t.Error("a value of another bucket is the same key")
	}
	if !k.Shared() || parsed(t, `{day: "hashed"}`).Shared() || parsed(t, `{day: 1}`).Shared() || !parsed(t, `{a: "hashed", b: "hashed"}`).Shared() {
		t.Error("Shared")
	}
	b := bson.NewBuilder(nil)
	k.AppendDocumentKey(b, d(3))
	if got := ejson.String(b.Doc()); got != ejson.String(bsontest.Doc(t, `{day: 1, vin: 3, _id: 7}`)) {
		t.Error(got)
	}
	b = bson.NewBuilder(nil)
	parsed(t, `{day: "hashed", _id: {buckets: 4}}`).AppendDocumentKey(b, d(3))
	if got := ejson.String(b.Doc()); got != ejson.String(bsontest.Doc(t, `{day: 1, _id: 7}`)) {
		t.Error(got)
	}
	b = bson.NewBuilder(nil)
	k.AppendValues(b, d(3))
	shown := b.Doc()
	values, err := k.LogicalValues(k.AppendLogical(nil, d(3)))
	if n, _ := values.Get("vin").Doc(); err != nil || n.Get("bucket").IsMissing() || !values.Get("day").IsNumber() {
		t.Error(values, err)
	} else if ejson.String(values) != ejson.String(shown) {
		t.Errorf("%s and %s", values, shown)
	}
	if _, err := k.LogicalValues(k.AppendLogical(nil, d(3))[:2]); err == nil {
		t.Error("half a key is read")
	}
	for index, want := range map[string]bool{`{day: 1, vin: 1}`: true, `{day: 1, vin: 1, x: 1}`: true, `{day: 1}`: false, `{vin: 1, day: 1}`: false, `{day: 1, x: 1}`: false} {
		if k.IsPrefixOf(bsontest.Doc(t, index)) != want {
			t.Errorf("%s: not %v", index, want)
		}
	}
	for s, want := range map[string]mongoerr.Code{`{day: 1, vin: [1]}`: mongoerr.ShardKeyNotFound, `{day: [1], vin: 1}`: mongoerr.ShardKeyNotFound, `{day: 1, vin: null}`: 0, `{}`: 0} {
		if _, err := k.Hash(bsontest.Doc(t, s)); mongoerr.CodeOf(err) != want {
			t.Errorf("%s: %v", s, err)
		}
	}
	if a, _ := k.Hash(bsontest.Doc(t, `{day: 1}`)); a != k.AppendHashes(nil, bsontest.Value(t, "1"), bson.Null)[0] {
		t.Error("missing is not null")
	}
	if p, missing := k.Missing(bsontest.Doc(t, `{day: 1}`)); !missing || p != "vin" {
		t.Error(p, missing)
	}
}

// TestSuffixBounds requires that a bound contains the hash of the fields before a suffix, and no field for the
// suffix.
func TestSuffixBounds(t *testing.T) {
	k := parsed(t, `{day: "hashed", vin: {buckets: 4}}`)
	at := HashPosition(1 << 63)
	bound := k.Bound(at, bson.MinKey)
	if got := ejson.String(bound); got != ejson.String(bsontest.Doc(t, `{day: NumberLong(0)}`)) {
		t.Error(got)
	}
	if got := ejson.String(k.Bound(nil, bson.MaxKey)); got != ejson.String(bsontest.Doc(t, `{day: {$maxKey: 1}}`)) {
		t.Error(got)
	}
	if p, end, err := k.ParseBound(bound, true); err != nil || end || p.String() != at.String() {
		t.Error(p, end, err)
	}
	if _, _, err := k.ParseBound(bsontest.Doc(t, `{day: NumberLong(0), vin: 1}`), true); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Error(err)
	}
}
