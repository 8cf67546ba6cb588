package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// world is one collection with some shards in a memory store.
type world struct {
	t     *testing.T
	env   *mql.Env
	store storage.Store
	coll  *catalog.Collection
}

func newWorld(t *testing.T, shardKey string, shards int, indexes ...string) *world {
	w := &world{t: t, env: mql.NewEnv(context.Background()), store: memkv.Open(memkv.Options{})}
	t.Cleanup(func() { w.store.Close() })
	w.coll = &catalog.Collection{Namespace: collection.Namespace{DB: "test", Coll: "c"}, ID: 1}
	kind := shard.Unsharded
	if shardKey != "" {
		k, err := shard.ParseKeyPattern(parse(t, shardKey))
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
		spec, err := index.ParseSpec(w.env, parse(t, s))
		if err != nil {
			t.Fatal(err)
		}
		w.coll.Indexes = append(w.coll.Indexes, &catalog.Index{Spec: spec, ID: keyspace.IndexID(i + 1), State: catalog.IndexReady})
	}
	return w
}

func parse(t *testing.T, s string) bson.Raw {
	t.Helper()
	d, err := ejson.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// target writes into a transaction; multikey marks are made at once.
func (w *world) target(txn storage.Txn, h keyspace.Hash) *write.Target {
	return &write.Target{Coll: w.coll, Shard: w.coll.Map.Find(h), Txn: txn, Multikey: func(ix *catalog.Index, p index.MultikeyPaths) error {
		ix.Multikey = ix.Multikey.Union(p)
		return nil
	}}
}

func (w *world) insert(doc bson.Raw) {
	h, err := w.coll.Position(doc)
	if err != nil {
		return // an array in the shard key
	}
	txn, err := w.store.Begin(context.Background(), storage.TxnOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer txn.Close()
	if err := w.target(txn, h).Insert(w.env, doc, h); err != nil {
		return // parallel arrays in an index
	}
	if _, err := txn.Commit(context.Background(), storage.Synced); err != nil {
		w.t.Fatal(err)
	}
}

// run returns the rows of one solution over all shards, as text.
func (w *world) run(q *plan.Query, sol *plan.Solution) []string {
	r, err := w.store.Snapshot(context.Background(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	var ops []exec.Operator
	for _, d := range router.Targets(w.coll, q.Match, true) {
		op, err := exec.Build(sol.Shards, exec.Source{Coll: w.coll, Shard: d, Reader: r})
		if err != nil {
			w.t.Fatal(err)
		}
		ops = append(ops, op)
	}
	ops = exec.Prefetch(w.env, ops, 2)
	op := exec.Concat(ops)
	if sol.Pattern != nil {
		op = exec.Merge(sol.Pattern, ops)
	}
	if sol.Skip > 0 {
		op = exec.Skip(op, sol.Skip)
	}
	if sol.Limit > 0 {
		op = exec.Limit(op, sol.Limit)
	}
	defer op.Close()
	var out []string
	for {
		row, err := op.Next(w.env)
		if err != nil {
			return []string{"error " + err.Error()}
		}
		if row == nil {
			break
		}
		out = append(out, ejson.Canonical(row.Doc))
	}
	return out
}

var scalars = []string{"0", "1", "2", "3", "1.5", "-1", "NumberLong(2)", `"a"`, `"b"`, `"abc"`, "null", "true", `Decimal128("2.0")`, "[]", "[1, 2]", `[3, "a"]`, "{x: 1}", "{x: [1, 5]}", "[{x: 1}, {x: 3}]", "undefined", "MinKey", `ISODate("2020-01-01")`}

func pick(rng *rand.Rand) string { return scalars[rng.IntN(len(scalars))] }

func randomDoc(rng *rand.Rand, id int) string {
	fields := []string{fmt.Sprintf("_id: %d", id)}
	for _, f := range []string{"a", "b", "k"} {
		if rng.IntN(4) > 0 {
			fields = append(fields, f+": "+pick(rng))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func randomPredicate(rng *rand.Rand) string {
	f := []string{"a", "b", "a.x", "b.x", "_id", "k"}[rng.IntN(6)]
	v := pick(rng)
	if f == "_id" {
		v = fmt.Sprint(rng.IntN(60))
	}
	switch rng.IntN(12) {
	case 0:
		return fmt.Sprintf("%q: {$gt: %s}", f, v)
	case 1:
		return fmt.Sprintf("%q: {$lte: %s}", f, v)
	case 2:
		return fmt.Sprintf("%q: {$in: [%s, %s, %s]}", f, v, pick(rng), pick(rng))
	case 3:
		return fmt.Sprintf("%q: {$ne: %s}", f, v)
	case 4:
		return fmt.Sprintf("%q: {$exists: %v}", f, rng.IntN(2) == 0)
	case 5:
		return fmt.Sprintf("%q: {$gte: %s, $lt: %s}", f, v, pick(rng))
	case 6:
		return fmt.Sprintf("$or: [{%s}, {%s}]", randomPredicate(rng), randomPredicate(rng))
	case 7:
		return fmt.Sprintf("%q: {$elemMatch: {$gt: %s}}", f, v)
	case 8:
		return fmt.Sprintf("%q: {$not: {$gt: %s}}", f, v)
	case 9:
		return fmt.Sprintf("%q: {$type: %q}", f, []string{"number", "string", "array", "null", "object"}[rng.IntN(5)])
	case 10:
		return fmt.Sprintf("%q: /^a/", f)
	}
	return fmt.Sprintf("%q: %s", f, v)
}

// TestEveryPlanAnswersAlike holds every candidate solution of random queries,
// sharded or not, to the answer of the plain scan.
func TestEveryPlanAnswersAlike(t *testing.T) {
	for _, c := range []struct {
		key    string
		shards int
	}{{"", 1}, {`{k: "hashed"}`, 3}, {`{_id: "hashed"}`, 2}} {
		t.Run(fmt.Sprintf("%s over %d", c.key, c.shards), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(c.shards)))
			w := newWorld(t, c.key, c.shards,
				`{key: {a: 1}, name: "a_1"}`, `{key: {a: -1, b: 1}, name: "ab"}`, `{key: {b: 1, a: 1, _id: 1}, name: "ba"}`,
				`{key: {"a.x": 1}, name: "ax"}`, `{key: {"a.x": 1, "b.x": -1}, name: "axbx"}`,
				`{key: {b: 1}, name: "bs", sparse: true}`, `{key: {a: 1}, name: "ap", partialFilterExpression: {b: {$gt: 1}}}`)
			for i := range 60 {
				w.insert(parse(t, randomDoc(rng, i)))
			}
			for range 1500 {
				filter := randomPredicate(rng)
				if rng.IntN(2) == 0 {
					second := randomPredicate(rng)
					if !strings.HasPrefix(second, filter[:3]) {
						filter += ", " + second
					}
				}
				f := plan.Find{Filter: parse(t, "{"+filter+"}")}
				sorted := rng.IntN(3) == 0
				if sorted {
					f.Sort = parse(t, []string{"{a: 1, _id: 1}", "{a: -1, b: 1, _id: 1}", "{b: -1, _id: 1}", "{_id: -1}", "{b: 1, a: 1, _id: 1}"}[rng.IntN(5)])
					if rng.IntN(2) == 0 {
						f.Skip, f.Limit = int64(rng.IntN(3)), int64(1+rng.IntN(9))
					}
				}
				if rng.IntN(4) == 0 {
					f.Projection = parse(t, []string{"{_id: 0, a: 1}", "{a: 1, b: 1}", "{b: 0}"}[rng.IntN(3)])
				}
				w.compare(f, sorted)
			}
		})
	}
}

func (w *world) compare(f plan.Find, sorted bool) {
	w.t.Helper()
	plain := f
	plain.Hint = bson.Value{Type: bson.TypeDocument, Data: parse(w.t, "{$natural: 1}")}
	q, err := plan.Canonical(w.env, w.coll, plain)
	if err != nil {
		return
	}
	sols, err := q.Candidates()
	if err != nil {
		w.t.Fatal(err)
	}
	want := w.run(q, sols[0])
	if q, err = plan.Canonical(w.env, w.coll, f); err != nil {
		w.t.Fatal(err)
	}
	if sols, err = q.Candidates(); err != nil {
		w.t.Fatal(err)
	}
	if !sorted {
		slices.Sort(want)
	}
	for _, s := range sols {
		got := w.run(q, s)
		if !sorted {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			b := bson.NewBuilder(nil)
			plan.Append(b, s.Shards)
			w.t.Fatalf("filter %s sort %s projection %s skip %d limit %d\nplan %s\n got %v\nwant %v", f.Filter, f.Sort, f.Projection, f.Skip, f.Limit, ejson.String(b.Doc()), got, want)
		}
	}
}
