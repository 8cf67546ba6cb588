package router_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/router"
)

func filter(t testing.TB, text string, order *mql.Collation) match.Node {
	t.Helper()
	env := mql.NewEnv(context.Background())
	env.Collation = order
	f, err := match.Parse(env, bsontest.Doc(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return match.Normalize(f)
}

// unsharded means a collection without a shard key.
const unsharded = ""

// sharded makes a collection of one shard.
func sharded(t testing.TB, key string) *catalog.Collection {
	t.Helper()
	c := &catalog.Collection{}
	var err error
	if key != unsharded {
		if c.Key, err = shard.ParseKeyPattern(bsontest.Doc(t, key)); err != nil {
			t.Fatal(err)
		}
		c.Key = c.Key.WithSeed(7)
	}
	if c.Map, err = shard.NewMap(c.Key.Kind(), 1, 1); err != nil {
		t.Fatal(err)
	}
	return c
}

// splitAt splits the collection at the position of a document, unless a shard begins there.
func splitAt(t testing.TB, c *catalog.Collection, doc bson.Raw) {
	t.Helper()
	p, err := c.Key.AppendPosition(nil, doc)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Map.FindPosition(p)
	if bytes.Equal(d.Lo, p) || len(p) == 0 {
		return
	}
	if c.Map, err = c.Map.Split(d.ID, p); err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Map.Shards() {
		if c.Map, err = c.Map.Settle(d.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// home returns the shard whose range contains the position of a document, by checking all shards.
func home(t testing.TB, c *catalog.Collection, doc bson.Raw) *shard.Descriptor {
	t.Helper()
	p, err := c.Key.AppendPosition(nil, doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Map.Shards() {
		if d.Contains(p) {
			return d
		}
	}
	t.Fatalf("no shard has %v", p)
	return nil
}

// names prints shards by their index in the map.
func names(c *catalog.Collection, ds []*shard.Descriptor) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprint(slices.Index(c.Map.Shards(), d)))
	}
	return strings.Join(out, " ")
}

// maker draws values, documents and filters over the fields _id, a, b, c and x, from few values, so that filters
// match documents.
type maker struct{ *rand.Rand }

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m maker) value() string {
	return m.pick("1", "2", "3", "4", "2.5", `{"$numberLong":"3"}`, `"a"`, `"A"`, `"b"`, "null", "true",
		`{"p":1}`, `{"$date":"2026-01-01T00:00:00Z"}`, `{"$minKey":1}`, `{"$maxKey":1}`, `{"$numberDouble":"NaN"}`, `{"$numberDouble":"-Infinity"}`)
}

func (m maker) doc() string {
	var fields []string
	for _, name := range []string{"_id", "a", "b", "c", "x"} {
		switch m.IntN(6) {
		case 0:
			if name == "_id" {
				fields = append(fields, `"_id":0`)
			}
		case 1:
			fields = append(fields, fmt.Sprintf(`%q:{"$undefined":true}`, name)) // filters cannot contain it
		default:
			fields = append(fields, fmt.Sprintf("%q:%s", name, m.value()))
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func (m maker) condition() string {
	v, w := m.value(), m.value()
	return m.pick(v, v, v,
		fmt.Sprintf(`{"$in":[%s,%s]}`, v, w),
		fmt.Sprintf(`{"$in":[%s,%s,{"$regularExpression":{"pattern":"^a","options":""}}]}`, v, w),
		fmt.Sprintf(`{"$gt":%s}`, v), fmt.Sprintf(`{"$gte":%s}`, v),
		fmt.Sprintf(`{"$lt":%s}`, v), fmt.Sprintf(`{"$lte":%s}`, v),
		fmt.Sprintf(`{"$gt":%s,"$lte":%s}`, v, w), fmt.Sprintf(`{"$gte":%s,"$lt":%s}`, v, w),
		fmt.Sprintf(`{"$ne":%s}`, v), fmt.Sprintf(`{"$not":{"$gt":%s}}`, v), fmt.Sprintf(`{"$nin":[%s,%s]}`, v, w),
		`{"$exists":true}`, `{"$exists":false}`, `{"$type":"number"}`, `{"$regularExpression":{"pattern":"^a","options":""}}`)
}

func (m maker) filter(depth int) string {
	if depth > 0 && m.IntN(4) == 0 {
		return fmt.Sprintf(`{%q:[%s,%s]}`, m.pick("$and", "$or", "$nor"), m.filter(depth-1), m.filter(depth-1))
	}
	var fields []string
	for _, name := range []string{"_id", "a", "b", "c", "x"} {
		if m.IntN(3) == 0 {
			fields = append(fields, fmt.Sprintf("%q:%s", name, m.condition()))
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

var keys = []string{
	unsharded, `{"_id":"hashed"}`, `{"a":"hashed"}`, `{"a":"hashed","b":"hashed"}`, `{"a":"hashed","b":"hashed","c":"hashed"}`,
	`{"a":"hashed","b":{"buckets":4}}`, `{"a":"hashed","b":"hashed","c":{"buckets":3}}`,
	`{"a":1}`, `{"a":1,"b":1}`, `{"a":1,"b":1,"_id":1}`, `{"a":"hashed","b":1}`, `{"a":1,"b":"hashed"}`, `{"a":1,"b":"hashed","c":1}`,
}

// TestTargetsHoldMatches compares the targets of random filters with the positions of all documents
// that match: none is outside the targets, under any key, in byte order and under a collation.
func TestTargetsHoldMatches(t *testing.T) {
	const seed = 21
	t.Logf("seed %d", seed)
	collation, err := mql.ParseCollation(bsontest.Doc(t, `{"locale":"en","strength":2}`).Value())
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		t.Run(key, func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(seed, uint64(i)))}
			c := sharded(t, key)
			var docs []bson.Raw
			for range 100 {
				docs = append(docs, bsontest.Doc(t, m.doc()))
			}
			for range 12 {
				if key != unsharded {
					splitAt(t, c, docs[m.IntN(len(docs))])
				}
			}
			homes := make([]*shard.Descriptor, len(docs))
			for i, doc := range docs {
				homes[i] = home(t, c, doc)
			}
			matches, fewer := 0, 0
			for range 150 {
				text := m.filter(1)
				for _, order := range []*mql.Collation{nil, collation} {
					f := filter(t, text, order)
					env := mql.NewEnv(context.Background())
					env.Collation = order
					targets := router.Targets(c, f, order == nil)
					if !slices.IsSortedFunc(targets, func(a, b *shard.Descriptor) int {
						return slices.Index(c.Map.Shards(), a) - slices.Index(c.Map.Shards(), b)
					}) || len(slices.Compact(slices.Clone(targets))) < len(targets) {
						t.Fatalf("%s: the targets %s are not in map order, each once", text, names(c, targets))
					}
					if len(targets) < c.Map.Len() {
						fewer++
					}
					for i, doc := range docs {
						ok, err := f.Matches(env, doc, &expr.Scratch{})
						if err != nil {
							t.Fatal(err)
						}
						if !ok {
							continue
						}
						matches++
						if d := homes[i]; !slices.Contains(targets, d) {
							t.Fatalf("%s matches %s, which lies in shard %s; the targets are %s (byte order %t)",
								text, ejson.String(doc), names(c, []*shard.Descriptor{d}), names(c, targets), order == nil)
						}
					}
				}
			}
			if matches < 300 || key != unsharded && fewer < 10 {
				t.Errorf("%d matches and %d filters with fewer targets than shards show nothing", matches, fewer)
			}
		})
	}
}

// TestTargetsAreFew checks the precision of keys: the targets are exactly the shards that can
// contain matches. The expected shards are computed from documents of every value in steps of a
// quarter; shards begin at whole numbers.
func TestTargetsAreFew(t *testing.T) {
	hashed := []string{`{"a":1}`, `{"a":2,"x":5}`, `{"a":{"$in":[1,2,3]}}`, `{"$or":[{"a":1},{"a":4}]}`, `{"a":{"$in":[]}}`}
	both := []string{`{"a":1,"b":2}`, `{"a":{"$in":[1,2]},"b":{"$in":[3,4,5]}}`}
	ranges := []string{`{"a":{"$gt":2}}`, `{"a":{"$gte":2}}`, `{"a":{"$lt":3}}`, `{"a":{"$lte":3}}`, `{"a":{"$gt":1,"$lt":3}}`,
		`{"a":{"$gte":1.5,"$lte":2}}`, `{"a":{"$gt":2,"$lt":2.5}}`, `{"$or":[{"a":{"$lt":1}},{"a":{"$gte":5}}]}`}
	var docs []bson.Raw
	for a := -4; a <= 28; a++ {
		for b := -4; b <= 28; b++ {
			d := bson.NewBuilder(nil)
			d.Double("a", float64(a)/4)
			d.Double("b", float64(b)/4)
			d.Int32("x", 5)
			docs = append(docs, d.Doc())
		}
	}
	below := []string{`{"a":2,"b":{"$gt":2}}`, `{"a":2,"b":{"$lt":2}}`, `{"a":{"$in":[1,4]},"b":{"$gte":3,"$lt":4}}`}
	for _, c := range []struct {
		key     string
		filters []string
	}{
		{`{"a":"hashed"}`, hashed},
		{`{"a":"hashed","b":"hashed"}`, both},
		{`{"a":"hashed","b":{"buckets":4}}`, slices.Concat(hashed, both)},
		{`{"a":1}`, slices.Concat(hashed, ranges)},
		{`{"a":1,"b":1}`, slices.Concat(hashed, both, ranges, below)},
		{`{"a":"hashed","b":1}`, slices.Concat(hashed, both, below)},
		{`{"a":1,"b":"hashed"}`, both},
	} {
		t.Run(c.key, func(t *testing.T) {
			coll := sharded(t, c.key)
			for a := range 6 {
				for b := 0; b < 6; b += 2 {
					splitAt(t, coll, bsontest.Doc(t, fmt.Sprintf(`{"a":%d,"b":%d}`, a, b)))
				}
			}
			env := mql.NewEnv(context.Background())
			homes := make([]*shard.Descriptor, len(docs))
			for i, doc := range docs {
				homes[i] = home(t, coll, doc)
			}
			for _, text := range c.filters {
				f := filter(t, text, nil)
				lie := map[*shard.Descriptor]bool{}
				for i, doc := range docs {
					if ok, _ := f.Matches(env, doc, &expr.Scratch{}); ok {
						lie[homes[i]] = true
					}
				}
				var want []*shard.Descriptor
				for _, d := range coll.Map.Shards() {
					if lie[d] {
						want = append(want, d)
					}
				}
				if got := router.Targets(coll, f, true); !slices.Equal(got, want) {
					t.Errorf("%s: targets %s, matches lie in %s of %d shards", text, names(coll, got), names(coll, want), coll.Map.Len())
				}
			}
		})
	}
}

// TestTargetsOfPrefix fixes the first field of a hierarchy: the targets are the shards that contain
// a hash beginning with the field's.
func TestTargetsOfPrefix(t *testing.T) {
	c := sharded(t, `{"a":"hashed","b":"hashed"}`)
	const values = 20
	for a := range values {
		for b := range 3 {
			splitAt(t, c, bsontest.Doc(t, fmt.Sprintf(`{"a":%d,"b":%d}`, a, b)))
		}
	}
	for a := range values {
		h, err := c.Position(bsontest.Doc(t, fmt.Sprintf(`{"a":%d,"b":77}`, a)))
		if err != nil {
			t.Fatal(err)
		}
		var want []*shard.Descriptor
		for _, d := range c.Map.Shards() {
			if first, last := d.Hashes(); first>>32 <= h>>32 && h>>32 <= last>>32 {
				want = append(want, d)
			}
		}
		if got := router.Targets(c, filter(t, fmt.Sprintf(`{"a":%d}`, a), nil), true); !slices.Equal(got, want) {
			t.Errorf("a: %d: targets %s, want %s", a, names(c, got), names(c, want))
		}
	}
}

// TestPlace checks the groups of random documents: all documents are in them, each with its shard; ordered gives one
// group of all as given; unordered gives one group for each shard that gets documents, in the order of their first
// documents.
func TestPlace(t *testing.T) {
	const seed = 22
	t.Logf("seed %d", seed)
	for i, key := range keys {
		m := maker{rand.New(rand.NewPCG(seed, uint64(i)))}
		c := sharded(t, key)
		for range 6 {
			if key != unsharded {
				splitAt(t, c, bsontest.Doc(t, m.doc()))
			}
		}
		for range 20 {
			docs := make([]router.Placed, 1+m.IntN(20))
			for i := range docs {
				doc := bsontest.Doc(t, m.doc())
				h, err := c.Position(doc)
				if err != nil {
					t.Fatal(err)
				}
				docs[i] = router.Placed{Doc: doc, Hash: h, Index: i}
			}
			for _, ordered := range []bool{true, false} {
				checkGroups(t, c, docs, router.ByShard(c, docs, ordered), ordered)
			}
		}
	}
}

func checkGroups(t *testing.T, c *catalog.Collection, docs []router.Placed, groups [][]router.Placed, ordered bool) {
	t.Helper()
	var all []int
	met := map[*shard.Descriptor]bool{}
	for i, g := range groups {
		last := -1
		for _, p := range g {
			if d := home(t, c, p.Doc); d != p.Shard {
				t.Fatalf("document %d of shard %v says %v", p.Index, d.ID, p.Shard.ID)
			}
			if !ordered && p.Shard != g[0].Shard {
				t.Fatalf("document %d of shard %v is in a group of %v", p.Index, p.Shard.ID, g[0].Shard.ID)
			}
			if p.Index <= last || !bytes.Equal(p.Doc, docs[p.Index].Doc) || p.Hash != docs[p.Index].Hash {
				t.Fatalf("document %d follows %d in group %d, or was changed", p.Index, last, i)
			}
			last = p.Index
			all = append(all, p.Index)
		}
		if last < 0 {
			t.Fatalf("group %d is empty", i)
		}
		if met[g[0].Shard] || ordered && i > 0 {
			t.Fatalf("ordered %t: shard %v has group %d as well", ordered, g[0].Shard.ID, i)
		}
		met[g[0].Shard] = true
	}
	if !ordered {
		if !slices.IsSortedFunc(groups, func(a, b []router.Placed) int { return a[0].Index - b[0].Index }) {
			t.Fatal("the groups do not come in the order of their first documents")
		}
		slices.Sort(all)
	}
	for i, index := range all {
		if index != i {
			t.Fatalf("ordered %t: documents %v", ordered, all)
		}
	}
	if len(all) != len(docs) {
		t.Fatalf("%d of %d documents", len(all), len(docs))
	}
}
