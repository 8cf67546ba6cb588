package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/storage/keyspace"
)

// TestCases runs the planner over testdata. Inputs of verb plan: index (a createIndexes specification,
// repeated), multikey ("name field bits", repeated: a field of an index above and the components of its path that held
// arrays, 1 unless given), shardKey, shards, let (variables), filter, sort, projection, hint, skip, limit, min, max, returnKey,
// showRecordId, timeField (the collection is a time series), count (only rows are counted), anyOrder (the caller needs no order), distinct (a path), elements (of arrays are values), first and last (an order of Edge), need (the fields that
// are read, or documents), only (an index filter, repeated), all (print the names of all candidates). Output: the solution
// with the best guess, as a tree, and the number of KeyRanges of a sharded collection.
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := mql.NewEnv(context.Background())
		env.Release, env.ServerRelease = c.Release(), c.Release()
		if let := doc(t, c, "let"); let != nil {
			if err := expr.DeclareLet(env, let); err != nil {
				t.Fatal(err)
			}
		}
		coll := testCollection(t, env, c)
		f := Find{Filter: doc(t, c, "filter"), Sort: doc(t, c, "sort"), Projection: doc(t, c, "projection")}
		if s, ok := c.Get("hint"); ok {
			v := bsontest.Value(t, s)
			f.Hint = v
		}
		f.Skip, f.Limit = number(c, "skip"), number(c, "limit")
		f.Min, f.Max = doc(t, c, "min"), doc(t, c, "max")
		_, f.ReturnKey = c.Get("returnKey")
		_, f.ShowRecordID = c.Get("showRecordId")
		q, err := Canonical(env, coll, f)
		if err != nil {
			return failure(err)
		}
		if _, count := c.Get("count"); count {
			q.KeysOnly = true
		}
		_, q.AnyOrder = c.Get("anyOrder")
		if key, ok := c.Get("distinct"); ok {
			q.KeysOnly, q.NeedKeys, q.Distinct = true, []string{key}, key
			_, q.Elements = c.Get("elements")
		}
		for _, edge := range [...]string{"first", "last"} {
			if by, ok := c.Get(edge); ok {
				p, err := order.Parse(env, bsontest.Doc(t, by))
				if err != nil {
					t.Fatal(err)
				}
				q.Edge, q.EdgeLast = &p, edge == "last"
			}
		}
		if need, ok := c.Get("need"); ok {
			q.NeedKeys = strings.Fields(need)
			q.KeysOnly = need != "documents"
		}
		for _, name := range c.All("only") {
			var a bson.Arena
			q.Only = append(q.Only, a.String(name))
		}
		sols, err := q.Candidates(env)
		if err != nil {
			return failure(err)
		}
		if _, all := c.Get("all"); all {
			var names strings.Builder
			for _, s := range sols {
				names.WriteString(s.Name() + "\n")
			}
			return names.String()
		}
		var out strings.Builder
		printTree(&out, sols[0].Shards, 0)
		if rs := q.KeyRanges(); coll.Sharded() {
			fmt.Fprintf(&out, "ranges: %d\n", len(rs))
		}
		return out.String()
	})
}

func failure(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s\n", e.Code, e.Code)
}

func doc(t *testing.T, c *casefile.Case, key string) bson.Raw {
	s, ok := c.Get(key)
	if !ok {
		return nil
	}
	return bsontest.Doc(t, s)
}

func number(c *casefile.Case, key string) (n int64) {
	s, _ := c.Get(key)
	fmt.Sscan(s, &n)
	return n
}

func testCollection(t *testing.T, env *mql.Env, c *casefile.Case) *catalog.Collection {
	t.Helper()
	coll := &catalog.Collection{Namespace: collection.Namespace{DB: "test", Coll: "c"}, ID: 1, NextIndex: 2}
	kind, shards := shard.Unsharded, 1
	if key := doc(t, c, "shardKey"); key != nil {
		k, err := shard.ParseKeyPattern(key)
		if err != nil {
			t.Fatal(err)
		}
		coll.Key, kind, shards = k, k.Kind(), max(1, int(number(c, "shards")))
	}
	m, err := shard.NewMap(kind, 1, shards)
	if err != nil {
		t.Fatal(err)
	}
	coll.Map = m
	if field, ok := c.Get("timeField"); ok {
		b := bson.NewBuilder(nil)
		b.String("timeField", field)
		coll.Options.TimeSeries, coll.Options.TimeField = b.Doc(), field
	}
	specs := append([]string{`{v: 2, key: {_id: 1}, name: "_id_"}`}, c.All("index")...)
	for i, s := range specs {
		d := bsontest.Doc(t, s)
		spec, err := index.ParseSpec(env, d)
		if err != nil {
			t.Fatal(err)
		}
		coll.Indexes = append(coll.Indexes, &catalog.Index{Spec: spec, ID: keyspace.IndexID(i + 1), State: catalog.IndexReady})
	}
	for _, s := range c.All("multikey") {
		name, field, _ := strings.Cut(s, " ")
		field, held, _ := strings.Cut(field, " ")
		ix := coll.Index(name)
		bits := uint64(1)
		fmt.Sscan(held, &bits)
		arrays := make(index.MultikeyPaths, len(ix.Fields()))
		copy(arrays, ix.Multikey)
		for i, f := range ix.Fields() {
			if f == field {
				arrays[i] = index.FieldArrays{Path: path.Must(f), Arrays: bits}
			}
		}
		ix.Multikey = arrays
	}
	return coll
}

// printTree prints a plan as indented lines.
func printTree(out *strings.Builder, n Node, depth int) {
	b := bson.NewBuilder(nil)
	n.Describe(b)
	d := b.Doc()
	fmt.Fprintf(out, "%s%s", strings.Repeat("  ", depth), n.Stage())
	for name, v := range d.Fields() {
		switch string(name) {
		case "indexPrefix", "textIndexVersion", "keyPattern", "isMultiKey", "multiKeyPaths", "isUnique", "isSparse", "isPartial", "indexVersion", "memLimit", "type":
			continue
		}
		fmt.Fprintf(out, " %s=%s", name, ejson.ValueString(v))
	}
	switch n := n.(type) {
	case *IndexScan:
		fmt.Fprintf(out, " seeks=%d", n.Seeks)
	case *Fetch:
		if n.AnyOrder {
			out.WriteString(" any order")
		}
	}
	out.WriteByte('\n')
	for _, in := range n.Inputs() {
		printTree(out, in, depth+1)
	}
}
