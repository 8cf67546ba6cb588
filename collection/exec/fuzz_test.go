package exec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// FuzzPlans compares the result of every candidate plan with that of the plain scan, for random queries
// over random documents and random indexes: indexes of all kinds that answer ordinary filters, ascending
// and descending, with and without arrays in them, sparse, partial, unique, under collations; on one
// shard and on several. Text and distances, whose results depend on an index, have their own tests.
func FuzzPlans(f *testing.F) {
	for seed := range uint64(6) {
		f.Add(seed)
	}
	f.Fuzz(fuzzPlans)
}

// Sizes of one run.
const (
	fuzzDocuments = 40
	fuzzQueries   = 25
)

func fuzzPlans(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	m := maker{rng, arrays}
	if rng.IntN(3) == 0 {
		m.values = plain
	}
	m.values = append(slices.Clone(m.values), `"A"`, `"aB"`, `"é"`, "NaN", "-0.0", "NumberLong(3)", "[2, [3]]", "[{x: [1, 2]}, {y: 1}]", "[undefined]", "MaxKey", "/a/", "{x: null}", `{"0": 2}`)
	indexes := make([]string, 1+rng.IntN(6))
	for i := range indexes {
		indexes[i] = m.index(i)
	}
	key, shards := "", 1
	switch rng.IntN(4) {
	case 0:
		key, shards = `{k: "hashed"}`, 3
	case 1:
		key, shards = `{_id: "hashed"}`, 2
	}
	w := newWorld(t, key, shards, indexes...)
	if rng.IntN(3) == 0 {
		c, err := mql.ParseCollation(bsontest.Doc(t, collations[rng.IntN(len(collations))]).Value())
		if err != nil {
			t.Fatal(err)
		}
		w.env.Collation = c
	}
	for i := range fuzzDocuments {
		w.insert(bsontest.Doc(t, m.doc(i)))
	}
	for range fuzzQueries {
		f := plan.Find{Filter: bsontest.Doc(t, m.filter())}
		if rng.IntN(12) == 0 {
			f.Filter = bson.Empty
		}
		if rng.IntN(2) == 0 {
			f.Sort = bsontest.Doc(t, m.order())
			if like := w.orderOf(w.coll.Indexes[rng.IntN(len(w.coll.Indexes))], rng.IntN(2) == 0); like != nil && rng.IntN(2) == 0 {
				f.Sort = like
			}
			if rng.IntN(2) == 0 {
				f.Skip, f.Limit = int64(rng.IntN(3)), int64(1+rng.IntN(9))
			}
		}
		if rng.IntN(3) == 0 {
			f.Projection = bsontest.Doc(t, projections[rng.IntN(len(projections))])
		}
		w.compare(f)
		if rng.IntN(3) == 0 {
			w.compareKeys(f.Filter)
		}
	}
}

// orderOf returns the sort pattern of an index's order, or of its reverse. It returns nil unless all fields are
// ascending or descending and _id is the last, so that there are no ties.
func (w *world) orderOf(ix *catalog.Index, reverse bool) bson.Raw {
	b := bson.NewBuilder(nil)
	last := ""
	for it := ix.Key.Iter(); it.Next(); {
		last = string(it.Name)
		n, ok := it.Value.AsInt64()
		if !ok || strings.Contains(last, "$") {
			return nil
		}
		if reverse {
			n = -n
		}
		b.Int64(last, n)
	}
	if last != "_id" {
		return nil
	}
	return b.Doc()
}

// collations are the collations of indexes and queries.
var collations = []string{`{locale: "en", strength: 2}`, `{locale: "fr", strength: 1}`, `{locale: "en", numericOrdering: true}`}

// index returns a random index specification.
func (m maker) index(i int) string {
	name := fmt.Sprintf("name: \"i%d\"", i)
	switch m.IntN(12) {
	case 0:
		return fmt.Sprintf(`{key: {%q: "hashed"}, %s}`, m.path(), name)
	case 1:
		a, b := m.path(), m.path()
		if a == b {
			b = "z"
		}
		return fmt.Sprintf(`{key: {%q: 1, %q: "hashed"}, %s}`, a, b, name)
	case 2:
		return fmt.Sprintf(`{key: {%q: %d}, %s}`, []string{"$**", "a.$**", "b.$**", "a.x.$**"}[m.IntN(4)], m.sign(), name)
	case 3:
		return fmt.Sprintf(`{key: {b: %d, "$**": 1}, wildcardProjection: {b: 0}, %s}`, m.sign(), name)
	}
	paths := []string{"a", "b", "k", "a.x", "b.x", "a.0", "b.x.y", "_id"}
	m.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	var fields []string
	for _, p := range paths[:1+m.IntN(3)] {
		fields = append(fields, fmt.Sprintf("%q: %d", p, m.sign()))
	}
	if len(fields) == 1 && paths[0] == "_id" {
		fields = append(fields, "k: 1")
	} else if m.IntN(2) == 0 && !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, `"_id"`) }) {
		fields = append(fields, fmt.Sprintf("%q: %d", "_id", m.sign())) // such an index can answer a sort
	}
	options := ""
	switch m.IntN(8) {
	case 0:
		options = ", sparse: true"
	case 1:
		options = ", partialFilterExpression: {" + []string{"b: {$gt: 1}", "a: {$exists: true}", `k: {$type: "number"}`, `b: {$lte: "b"}`, "a: 2", "$or: [{a: 1}, {b: {$gte: 2}}]", "a: {$in: [1, 2, null]}"}[m.IntN(7)] + "}"
	case 2:
		if !strings.Contains(strings.Join(fields, ","), "_id") {
			fields = append(fields, "_id: 1") // otherwise most documents would be refused
		}
		options = ", unique: true"
	case 3:
		options = ", collation: " + collations[m.IntN(len(collations))]
	case 4:
		options = ", sparse: true, collation: " + collations[m.IntN(len(collations))]
	}
	return fmt.Sprintf("{key: {%s}, %s%s}", strings.Join(fields, ", "), name, options)
}

func (m maker) path() string { return []string{"a", "b", "k", "a.x"}[m.IntN(4)] }

func (m maker) sign() int { return 1 - 2*m.IntN(2) }

// order returns a random sort pattern without ties.
func (m maker) order() string {
	paths := []string{"a", "b", "k", "a.x", "b.x"}
	m.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	var fields []string
	for _, p := range paths[:m.IntN(4)] {
		fields = append(fields, fmt.Sprintf("%q: %d", p, m.sign()))
	}
	return fmt.Sprintf("{%s}", strings.Join(append(fields, fmt.Sprintf("_id: %d", m.sign())), ", "))
}
