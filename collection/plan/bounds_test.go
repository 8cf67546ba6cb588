package plan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// boundsIndexes are the indexes that FuzzBounds tests.
var boundsIndexes = []string{
	`{key: {a: 1}, name: "a"}`, `{key: {a: -1, b: 1}, name: "ab"}`, `{key: {"a.x": 1, b: -1}, name: "axb"}`,
	`{key: {"a.x": 1, "a.y": 1}, name: "axy"}`, `{key: {a: 1}, name: "sparse", sparse: true}`,
	`{key: {a: 1}, name: "partial", partialFilterExpression: {b: {$exists: true}}}`,
	`{key: {a: 1}, name: "de", collation: {locale: "de", strength: 1}}`,
	`{key: {a: "hashed"}, name: "hashed"}`, `{key: {b: 1, a: "hashed"}, name: "hashed2"}`,
	`{key: {"$**": 1}, name: "all"}`, `{key: {"a.$**": 1}, name: "below"}`,
	`{key: {b: -1, "$**": -1}, name: "compound", wildcardProjection: {a: 1}}`,
	`{key: {"$**": 1}, name: "not", wildcardProjection: {"a.x": 0}}`,
}

func boundsValue(r *rand.Rand, depth int) string {
	scalars := []string{"0", "1", "-1", "2.5", "NumberLong(1)", `Decimal128("1.0")`, "NaN", `""`, `"a"`, `"A"`, `"ab"`, "null", "true", "false", "undefined",
		"MinKey", "MaxKey", "/^a/", `ISODate("2020-01-01")`, `ObjectId("000000000000000000000001")`, "Timestamp(1, 1)", "{}", "[]"}
	n := len(scalars)
	if depth < 3 {
		n += 6
	}
	switch i := r.IntN(n); {
	case i < len(scalars):
		return scalars[i]
	case i%2 == 0:
		return fmt.Sprintf("{%s: %s, %s: %s}", []string{"x", "y"}[r.IntN(2)], boundsValue(r, depth+1), []string{"z", "0"}[r.IntN(2)], boundsValue(r, depth+1))
	}
	var list []string
	for range r.IntN(3) + 1 {
		list = append(list, boundsValue(r, depth+1))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func boundsFilter(r *rand.Rand) string {
	path := []string{"a", "a", "b", "a.x", "a.y", "a.0", "a.x.y", "_id"}[r.IntN(8)]
	v := func() string { return boundsValue(r, 2) }
	op := ""
	switch r.IntN(12) {
	case 0:
		op = fmt.Sprintf("{$gt: %s}", v())
	case 1:
		op = fmt.Sprintf("{$gte: %s, $lt: %s}", v(), v())
	case 2:
		op = fmt.Sprintf("{$lte: %s}", v())
	case 3:
		op = fmt.Sprintf("{$in: [%s, %s]}", v(), v())
	case 4:
		op = fmt.Sprintf("{$nin: [%s, %s]}", v(), v())
	case 5:
		op = fmt.Sprintf("{$ne: %s}", v())
	case 6:
		op = fmt.Sprintf("{$exists: %v}", r.IntN(2) == 0)
	case 7:
		op = fmt.Sprintf("{$elemMatch: {$gte: %s, $lte: %s}}", v(), v())
	case 8:
		op = fmt.Sprintf("{$elemMatch: {x: %s}}", v())
	case 9:
		op = fmt.Sprintf("{$not: {$lt: %s}}", v())
	case 10:
		op = fmt.Sprintf("{$type: %q}", []string{"array", "number", "string", "null", "object", "undefined"}[r.IntN(6)])
	default:
		op = v()
	}
	return fmt.Sprintf("{%q: %s}", path, op)
}

// FuzzBounds makes a document and a filter, for each of boundsIndexes. If the document matches, one of its keys must
// lie within the bounds that a plan with the index reads; if not, none within exact bounds. Several lie there only if
// the access repeats.
func FuzzBounds(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	c := newBoundsChecker(f)
	f.Fuzz(c.check)
}

// TestBounds is FuzzBounds with fixed seeds.
func TestBounds(t *testing.T) {
	c := newBoundsChecker(t)
	for seed := range uint64(2000) {
		c.check(t, seed)
	}
}

type boundsChecker struct {
	env   *mql.Env
	m     *shard.Map
	specs []*index.Spec
}

func newBoundsChecker(t testing.TB) *boundsChecker { return checkerOf(t, boundsIndexes) }

func checkerOf(t testing.TB, indexes []string) *boundsChecker {
	c := &boundsChecker{env: mql.NewEnv(context.Background())}
	var err error
	if c.m, err = shard.NewMap(shard.Unsharded, 1, 1); err != nil {
		t.Fatal(err)
	}
	for _, s := range indexes {
		d := bsontest.Doc(t, s)
		spec, err := index.ParseSpec(c.env, d)
		if err != nil {
			t.Fatal(err)
		}
		c.specs = append(c.specs, spec)
	}
	return c
}

func (c *boundsChecker) check(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	all := release.Offered()
	c.env.Release = all[r.IntN(len(all))]
	doc, err := ejson.Parse(fmt.Sprintf("{_id: 1, a: %s, b: %s}", boundsValue(r, 0), boundsValue(r, 0)))
	if err != nil {
		return
	}
	filter, err := ejson.Parse(fmt.Sprintf("{$and: [%s, %s]}", boundsFilter(r), boundsFilter(r)))
	if err != nil {
		return
	}
	for _, spec := range c.specs {
		checkBounds(t, c.env, c.m, spec, doc, filter)
	}
}

func checkBounds(t *testing.T, env *mql.Env, m *shard.Map, spec *index.Spec, doc, filter bson.Raw) {
	var keys [][]byte
	var s expr.Scratch
	arrays, err := spec.Keys(env, doc, &s, func(values, _ []byte) error {
		keys = append(keys, bytes.Clone(values))
		return nil
	})
	if err != nil {
		return // such a document cannot be stored
	}
	ix := &catalog.Index{Spec: spec, ID: 2, State: catalog.IndexReady, Multikey: arrays}
	coll := &catalog.Collection{ID: 1, Map: m, Indexes: []*catalog.Index{ix}}
	q, err := Canonical(env, coll, Find{Filter: filter})
	if err != nil {
		return // such a filter is not valid
	}
	ok, err := q.Match.Matches(env, doc, &s)
	if err != nil {
		t.Fatal(err)
	}
	cs := q.conjuncts(q.Match)
	paths := []string{""}
	if spec.Kind.Name == "wildcard" {
		var name bson.Arena
		q.Hint = name.String(spec.Name) // with a hint, existence alone bounds an index too
		paths = q.wildcardPaths(ix, cs)
	}
	for _, at := range paths {
		a, can := q.indexAccess(ix, cs, approach{at: at})
		if !can {
			continue
		}
		inside := 0
		for _, key := range keys {
			if within(t, a.bounds, key, spec.Dirs()) {
				inside++
			}
		}
		switch {
		case ok && inside == 0:
			t.Fatalf("%s matches %s, but index %s at %q with bounds %v has no key of it in %x", doc, filter, spec.Name, at, texts(a.bounds), keys)
		case inside > 1 && !a.repeats:
			t.Fatalf("%s has %d keys of index %s at %q within bounds %v of %s, which nobody expects", doc, inside, spec.Name, at, texts(a.bounds), filter)
		case !ok && inside > 0 && unused(cs, a.used) == nil:
			t.Fatalf("%s does not match %s, but has a key of index %s within bounds %v, which are said to be exact", doc, filter, spec.Name, texts(a.bounds))
		}
	}
}

func texts(b Bounds) (out [][]string) {
	for _, f := range b {
		var list []string
		for i := range f.Intervals {
			list = append(list, f.text(i, keystring.Ascending))
		}
		out = append(out, list)
	}
	return out
}

// within calls Contains and Ranges, which must agree.
func within(t *testing.T, b Bounds, key []byte, dirs []keystring.Dir) bool {
	ok, seek, err := b.Contains(key, dirs, false)
	if err != nil {
		t.Fatal(err)
	}
	if !ok && seek != nil && bytes.Compare(seek, key) <= 0 {
		t.Fatalf("seek from %x to %x goes back", key, seek)
	}
	same, seek, err := b.Contains(key, dirs, true)
	if err != nil {
		t.Fatal(err)
	}
	if same != ok || !ok && seek != nil && bytes.Compare(seek, key) > 0 {
		t.Fatalf("key %x is within the bounds: %v, backwards %v; seek backwards to %x", key, ok, same, seek)
	}
	ranges, exact := b.Ranges()
	in := false
	for _, r := range ranges {
		rg := keyspace.EntryRange(1, 1, 1, r)
		in = in || rg.Contains(keyspace.AppendEntry(nil, 1, 1, 1, key, 5, []byte{1}))
	}
	if ok && !in || exact && in && !ok {
		t.Fatalf("key %x: within the bounds %v, within their ranges %v, exact %v", key, ok, in, exact)
	}
	return ok
}
