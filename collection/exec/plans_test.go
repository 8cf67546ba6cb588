package exec_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// world is a collection with some shards in a memory store.
type world struct {
	t     testing.TB
	env   *mql.Env
	store storage.Store
	coll  *catalog.Collection
	used  map[string]int // stages of the candidates

	parked int  // number of times that Park closed an iterator
	awake  bool // operators are never parked
}

func newWorld(t testing.TB, shardKey string, shards int, indexes ...string) *world {
	return newWorldIn(t, memkv.Open(memkv.Options{}), shardKey, shards, indexes...)
}

func newWorldIn(t testing.TB, store storage.Store, shardKey string, shards int, indexes ...string) *world {
	w := &world{t: t, env: mql.NewEnv(context.Background()), store: store, used: map[string]int{}}
	t.Cleanup(func() { w.store.Close() })
	w.coll = &catalog.Collection{Namespace: collection.Namespace{DB: "test", Coll: "c"}, ID: 1}
	kind := shard.Unsharded
	if shardKey != "" {
		k, err := shard.ParseKeyPattern(bsontest.Doc(t, shardKey))
		if err != nil {
			t.Fatal(err)
		}
		w.coll.Key, kind = k.WithSeed(42), k.Kind()
	}
	var err error
	if w.coll.Map, err = shard.NewMap(kind, 1, shards); err != nil {
		t.Fatal(err)
	}
	for i, s := range append([]string{`{v: 2, key: {_id: 1}, name: "_id_"}`}, indexes...) {
		spec, err := index.ParseSpec(w.env, bsontest.Doc(t, s))
		if err != nil {
			t.Fatal(err)
		}
		w.coll.Indexes = append(w.coll.Indexes, &catalog.Index{Spec: spec, ID: keyspace.IndexID(i + 1), State: catalog.IndexReady})
	}
	return w
}

// target returns the target by which the test's collection is written in a transaction. Marks of indexes as
// multikey take effect immediately.
func (w *world) target(txn storage.Txn, h keyspace.Hash) *write.Target {
	return &write.Target{Coll: w.coll, Shard: w.coll.Map.Find(h, nil), Txn: txn, Multikey: func(ix *catalog.Index, p index.MultikeyPaths) error {
		ix.Multikey = ix.Multikey.Union(p)
		return nil
	}}
}

func (w *world) insert(doc bson.Raw) {
	h, err := w.coll.Position(doc)
	if err != nil {
		return // an array in the shard key was refused
	}
	txn, err := w.store.Begin(context.Background(), storage.TxnOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer txn.Close()
	if err := w.target(txn, h).Insert(w.env, doc, h); err != nil {
		return // parallel arrays in an index were refused
	}
	if _, err := txn.Commit(context.Background(), storage.Synced); err != nil {
		w.t.Fatal(err)
	}
}

// run returns the rows of one solution over all shards, as BSON with its fields in the order of their names. An error is a
// document of its own.
func (w *world) run(q *plan.Query, sol *plan.Solution) []string {
	snapshot, err := w.store.Snapshot(context.Background(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer snapshot.Close()
	r := &openReader{Reader: snapshot}
	defer func() { w.parked += r.parked }()
	op := w.open(q, sol, r)
	defer op.Close()
	var out []string
	for {
		row, err := op.Next(w.env)
		if err != nil {
			b := bson.NewBuilder(nil)
			b.String("error", err.Error())
			return []string{string(b.Doc())}
		}
		if row == nil {
			break
		}
		out = append(out, string(inOrder(row.Doc)))
		if len(out)%3 > 0 && !w.awake { // like a cursor between two batches
			r.park(w.t, op)
		}
	}
	return out
}

// open returns the operators of one solution over all shards.
func (w *world) open(q *plan.Query, sol *plan.Solution, r storage.Reader) exec.Operator {
	var ops []exec.Operator
	var parts []*exec.ShardPart
	src := exec.Source{Coll: w.coll, Reader: r}
	_, after := sol.AfterMerge()
	for _, d := range router.Targets(w.coll, q.Match, w.env.Collation == nil) {
		src.Shard = d
		op, err := exec.BuildChosen(sol, 0, src)
		if err != nil {
			w.t.Fatal(err)
		}
		if after != nil {
			parts = append(parts, exec.NewShardPart(sol, int(d.ID), op))
			ops = append(ops, parts[len(parts)-1])
			continue
		}
		ops = append(ops, exec.CountReturned(op))
	}
	ops = exec.Prefetch(w.env, ops, 2)
	op := exec.Concat(ops)
	if sol.Pattern != nil {
		op = exec.Merge(sol.Pattern, ops)
	}
	if after != nil {
		w.used["SKIP after a merge"]++
		return exec.CountReturnedByShard(exec.AfterMerge(sol, src, op, parts))
	}
	if sol.Skip > 0 {
		op = exec.Skip(op, sol.Skip)
	}
	if sol.Limit > 0 {
		op = exec.Limit(op, sol.Limit)
	}
	return op
}

// inOrder returns a document with its fields sorted by name, so that results can be compared: a document made
// from an index key has its fields in the order of the index.
func inOrder(d bson.Raw) bson.Raw {
	var fields []bson.Field
	for it := d.Iter(); it.Next(); {
		v := it.Value
		if inner, ok := v.Doc(); ok {
			v = inOrder(inner).Value()
		}
		fields = append(fields, bson.Field{Name: it.Name, Value: v})
	}
	slices.SortStableFunc(fields, func(a, b bson.Field) int { return bytes.Compare(a.Name, b.Name) })
	b := bson.NewBuilder(nil)
	for _, f := range fields {
		b.ValueBytes(f.Name, f.Value)
	}
	return b.Doc()
}

// plain and arrays are the values of documents.
var (
	plain  = []string{"0", "1", "2", "3", "1.5", "-1", "NumberLong(2)", `"a"`, `"b"`, `"abc"`, "null", "true", `Decimal128("2.0")`, "{x: 1}", "{x: 2, y: 1}", "{}", "undefined", "MinKey", `ISODate("2020-01-01")`}
	arrays = append([]string{"[]", "[1, 2]", `[3, "a"]`, "{x: [1, 5]}", "[{x: 1}, {x: 3}]", "[[1, 2]]", "[null]"}, plain...)
)

// maker makes random documents and queries.
type maker struct {
	*rand.Rand
	values []string
}

func (m maker) value() string { return m.values[m.IntN(len(m.values))] }

func (m maker) doc(id int) string {
	fields := []string{fmt.Sprintf("_id: %d", id)}
	for _, f := range []string{"a", "b", "k"} {
		if m.IntN(4) > 0 {
			fields = append(fields, f+": "+m.value())
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (m maker) predicate() string {
	f := []string{"a", "b", "a.x", "b.x", "_id", "k", "a", "b"}[m.IntN(8)]
	v := m.value()
	if f == "_id" {
		v = fmt.Sprint(m.IntN(60))
	}
	switch m.IntN(19) {
	case 14:
		return fmt.Sprintf("%q: {$nin: [%s, %s]}", f, v, m.value())
	case 15:
		return fmt.Sprintf("%q: {$mod: [2, %d]}", f, m.IntN(2))
	case 16:
		return fmt.Sprintf("%q: /b/", f)
	case 17:
		return fmt.Sprintf("$nor: [{%q: %s}, {%q: {$type: \"string\"}}]", f, v, f)
	case 18:
		return fmt.Sprintf("$expr: {$gte: [\"$%s\", %s]}", f, v)
	case 0:
		return fmt.Sprintf("%q: {$gt: %s}", f, v)
	case 1:
		return fmt.Sprintf("%q: {$lte: %s}", f, v)
	case 2, 12:
		return fmt.Sprintf("%q: {$in: [%s, %s, %s]}", f, v, m.value(), m.value())
	case 3:
		return fmt.Sprintf("%q: {$ne: %s}", f, v)
	case 4:
		return fmt.Sprintf("%q: {$exists: %v}", f, m.IntN(2) == 0)
	case 5:
		return fmt.Sprintf("%q: {$gte: %s, $lt: %s}", f, v, m.value())
	case 6:
		return fmt.Sprintf("$or: [{%s}, {%s}]", m.predicate(), m.predicate())
	case 7:
		return fmt.Sprintf("%q: {$elemMatch: {$gt: %s}}", f, v)
	case 8:
		return fmt.Sprintf("%q: {$not: {$gt: %s}}", f, v)
	case 9:
		return fmt.Sprintf("%q: {$type: %q}", f, []string{"number", "string", "array", "null", "object"}[m.IntN(5)])
	case 10:
		return fmt.Sprintf("%q: /^a/", f)
	}
	return fmt.Sprintf("%q: %s", f, v)
}

func (m maker) filter() string {
	filter := m.predicate()
	for range m.IntN(3) {
		if second := m.predicate(); !strings.Contains(filter, second[:3]) {
			filter += ", " + second
		}
	}
	return "{" + filter + "}"
}

var sorts = []string{"{a: 1, _id: 1}", "{a: -1, b: 1, _id: 1}", "{b: -1, _id: 1}", "{_id: -1}", "{b: 1, a: 1, _id: 1}", "{b: -1, a: -1, _id: -1}", `{"a.x": 1, _id: 1}`, `{"a.x": -1, _id: -1}`, "{a: -1, _id: -1}"}

var projections = []string{"{_id: 0, a: 1}", "{a: 1, b: 1}", "{b: 0}", `{_id: 0, "a.x": 1}`, `{_id: 0, "a.x": 1, "b.x": 1}`, `{_id: 0, b: 1, s: {$add: [1, 2]}}`}

// ordered holds indexes for documents with or without arrays.
var ordered = []string{
	`{key: {a: 1}, name: "a_1"}`, `{key: {a: -1, b: 1}, name: "ab"}`, `{key: {b: 1, a: 1, _id: 1}, name: "ba"}`,
	`{key: {"a.x": 1}, name: "ax"}`, `{key: {"a.x": 1, "b.x": -1}, name: "axbx"}`, `{key: {k: 1}, name: "k_1"}`,
	`{key: {b: 1}, name: "bs", sparse: true}`, `{key: {a: 1, k: 1}, name: "ap", partialFilterExpression: {b: {$gt: 1}}}`,
	`{key: {k: 1, _id: 1}, name: "ki"}`, `{key: {a: 1, b: -1, _id: 1}, name: "abi"}`,
	`{key: {a: 1, _id: 1}, name: "ai"}`, `{key: {"a.x": -1, _id: -1}, name: "axi"}`,
	`{key: {"$**": 1}, name: "all"}`, `{key: {"a.$**": -1}, name: "below"}`, `{key: {"$**": 1}, name: "some", wildcardProjection: {"a.x": 1, b: 1}}`,
}

// onlyPlain holds indexes that do not permit arrays.
var onlyPlain = []string{
	`{key: {a: "hashed"}, name: "ah"}`, `{key: {b: 1, "a.x": "hashed", k: -1}, name: "bah"}`,
	`{key: {b: 1, "$**": 1}, name: "ball", wildcardProjection: {b: 0}}`, `{key: {"a.$**": 1, k: 1}, name: "belowk"}`,
	`{key: {"a.x": 1, "a.y": 1, _id: 1}, name: "axy"}`,
}

// TestEveryPlanAnswersAlike compares the rows of every candidate plan of random queries with the rows of a
// plain collection scan, sharded and unsharded.
func TestEveryPlanAnswersAlike(t *testing.T) {
	used := map[string]int{}
	for _, c := range []struct {
		key     string
		shards  int
		values  []string
		indexes []string
	}{
		{"", 1, arrays, ordered}, {`{k: "hashed"}`, 3, arrays, ordered}, {`{_id: "hashed"}`, 2, arrays, ordered},
		{"", 1, plain, append(onlyPlain, ordered...)}, {`{k: "hashed"}`, 3, plain, append(onlyPlain, ordered...)},
		{`{k: "hashed", _id: {buckets: 5}}`, 3, arrays, ordered}, {`{k: "hashed", _id: "hashed"}`, 3, arrays, ordered},
	} {
		t.Run(fmt.Sprintf("%s over %d with %d indexes", c.key, c.shards, len(c.indexes)), func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(7, uint64(c.shards))), c.values}
			w := newWorld(t, c.key, c.shards, c.indexes...)
			for i := range 60 * c.shards { // more in each shard than Prefetch reads ahead
				w.insert(bsontest.Doc(t, m.doc(i)))
			}
			for range 90 {
				f := plan.Find{Filter: bsontest.Doc(t, m.filter())}
				if m.IntN(8) == 0 {
					f.Filter = bsontest.Doc(t, fmt.Sprintf("{%s: {$in: [%s, %s, %s]}}", []string{"a", "k"}[m.IntN(2)], m.value(), m.value(), m.value()))
				}
				if m.IntN(3) == 0 {
					f.Sort = bsontest.Doc(t, sorts[m.IntN(len(sorts))])
					if m.IntN(2) == 0 {
						f.Skip, f.Limit = int64(m.IntN(3)), int64(1+m.IntN(9))
					}
				}
				if m.IntN(3) == 0 {
					f.Projection = bsontest.Doc(t, projections[m.IntN(len(projections))])
				}
				f.ShowRecordID = m.IntN(20) == 0
				w.compare(f)
				if m.IntN(3) == 0 {
					w.compareKeys(f.Filter)
				}
			}
			w.compare(plan.Find{Filter: bsontest.Doc(t, "{_id: 5}")})
			for name, n := range w.used {
				used[name] += n
			}
			if w.parked == 0 {
				t.Error("no plan was parked with an iterator open")
			}
		})
	}
	for _, stage := range []string{"AND_HASH", "CLUSTERED_IXSCAN", "COLLSCAN", "COUNT_SCAN a_1", "DISTINCT_SCAN ab", "EXPRESS_IXSCAN", "FETCH", "IXSCAN ah", "IXSCAN with a filter", "IXSCAN with an expression", "IXSCAN ball", "IXSCAN below", "OR", "PROJECTION_COVERED", "SKIP after a merge", "SORT", "SORT_MERGE"} {
		if used[stage] < 1 {
			t.Errorf("%s was never planned", stage)
		}
	}
}

// candidates lists the solutions of a query and counts their stages.
func (w *world) candidates(q *plan.Query) []*plan.Solution {
	w.t.Helper()
	sols, err := q.Candidates(w.env)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range sols {
		var visit func(n plan.Node)
		visit = func(n plan.Node) {
			name := n.Stage()
			if ix, ok := n.(*plan.IndexScan); ok {
				name += " " + ix.Index.Name
				if ix.Tested != nil {
					w.used["IXSCAN with a filter"]++
				}
				if ix.NullsDiffer {
					w.used["IXSCAN with an expression"]++
				}
			}
			w.used[name]++
			for _, in := range n.Inputs() {
				visit(in)
			}
		}
		visit(s.Shards)
	}
	return sols
}

// natural returns the find with a hint to scan the collection.
func (w *world) natural(f plan.Find) plan.Find {
	f.Hint = bson.Value{Type: bson.TypeDocument, Data: bsontest.Doc(w.t, "{$natural: 1}")}
	return f
}

func (w *world) query(f plan.Find) *plan.Query {
	w.t.Helper()
	q, err := plan.Canonical(w.env, w.coll, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return q
}

// compare compares the rows of every candidate plan of a find with those of the collection scan, and runs a trial of
// the candidates.
func (w *world) compare(f plan.Find) {
	w.t.Helper()
	if _, err := plan.Canonical(w.env, w.coll, f); err != nil {
		return
	}
	q := w.query(w.natural(f))
	want := w.run(q, w.candidates(q)[0])
	q = w.query(f)
	sols := w.candidates(q)
	for _, s := range sols {
		w.same(f, s, w.run(q, s), want, f.Sort != nil)
	}
	w.tryAll(q, sols)
}

// tryAll runs a trial, which must not fail.
func (w *world) tryAll(q *plan.Query, sols []*plan.Solution) {
	w.t.Helper()
	r, err := w.store.Snapshot(context.Background(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	tried, n, err := exec.Trial(w.env, sols, exec.Source{Coll: w.coll, Shard: w.coll.Map.Shards()[0], Reader: r})
	if err != nil || tried[n].Score < 1 {
		w.t.Fatalf("trial of %s: %v", q.Filter, err)
	}
}

func (w *world) same(f plan.Find, s *plan.Solution, got, want []string, sorted bool) {
	w.t.Helper()
	if !sorted {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) {
		b := bson.NewBuilder(nil)
		plan.Append(b, s.Shards)
		w.t.Fatalf("filter %s sort %s projection %s skip %d limit %d\nplan %s\n got %v\nwant %v", f.Filter, f.Sort, f.Projection, f.Skip, f.Limit, ejson.String(b.Doc()), readable(got), readable(want))
	}
}

// readable returns rows as text. Documents begin with their length; the others are distinct values and times.
func readable(rows []string) (out []string) {
	for _, r := range rows {
		if len(r) >= len(bson.EmptyDoc.Data) && int(binary.LittleEndian.Uint32([]byte(r))) == len(r) {
			out = append(out, ejson.Canonical(bson.Raw(r)))
		} else {
			out = append(out, strconv.Quote(r))
		}
	}
	return out
}

// compareKeys compares counts and distinct values with the scan.
func (w *world) compareKeys(filter bson.Raw) {
	w.t.Helper()
	f := plan.Find{Filter: filter}
	if _, err := plan.Canonical(w.env, w.coll, f); err != nil {
		return
	}
	q := w.query(w.natural(f))
	rows := len(w.run(q, w.candidates(q)[0]))
	q = w.query(f)
	q.KeysOnly = true
	for _, s := range w.candidates(q) {
		if got := len(w.run(q, s)); got != rows {
			b := bson.NewBuilder(nil)
			plan.Append(b, s.Shards)
			w.t.Fatalf("count of %s: %d, want %d\nplan %s", filter, got, rows, ejson.String(b.Doc()))
		}
	}
	for _, path := range []string{"a", "b", "a.x"} {
		q := w.query(w.natural(f))
		want := w.values(w.run(q, w.candidates(q)[0]), path)
		q = w.query(f)
		q.KeysOnly, q.NeedKeys, q.Distinct = true, []string{path}, path
		for _, s := range w.candidates(q) {
			w.same(f, s, w.values(w.run(q, s), path), want, true)
		}
	}
}

// values returns the distinct values of a path in documents, sorted.
func (w *world) values(docs []string, at string) []string {
	w.t.Helper()
	seen := map[string]bool{}
	p := path.Must(at)
	for _, d := range docs {
		p.Walk(bson.Raw(d), path.TraverseLeaf, func(v bson.Value, _ []int32) bool {
			if !v.IsMissing() {
				seen[string(keystring.Append(nil, v, keystring.Ascending, nil, nil))] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(seen))
}
