package catalog

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/memkv"
)

// times repeats a text, with the number of the repetition in the place of #.
func times(n int, text string) string {
	var parts []string
	for i := range n {
		parts = append(parts, strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return strings.Join(parts, ", ")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The bytes counted for options and indexes of many kinds are at least the memory that they use once parsed.
func TestMetadataBytes(t *testing.T) {
	env := mql.NewEnv(context.Background())
	const copies = 8
	options := func(text string) func() (any, int64) {
		raw := bsontest.Doc(t, text)
		return func() (any, int64) {
			o, err := ParseOptions(env, raw.Clone(), mql.NewestCollator)
			if err != nil {
				t.Fatal(err)
			}
			return o, o.held
		}
	}
	spec := func(text string) func() (any, int64) {
		raw := bsontest.Doc(t, text)
		return func() (any, int64) {
			s, err := index.ParseSpec(env, raw)
			if err != nil {
				t.Fatal(err)
			}
			return s, s.Held
		}
	}
	for name, parse := range map[string]func() (any, int64){
		"$or":               options(`{validator: {$or: [` + times(2000, `{a: 1}`) + `]}}`),
		"$all":              options(`{validator: {a: {$all: [` + times(2000, `1`) + `]}}}`),
		"$not":              options(`{validator: {$nor: [` + times(2000, `{a: {$not: {$gt: 1}}}`) + `]}}`),
		"$expr":             options(`{validator: {$expr: {$and: [` + times(2000, `{$abs: "$a.b.c"}`) + `]}}}`),
		"long paths":        options(`{validator: {$or: [` + times(200, `{"`+strings.Repeat("a.", 100)+`a": 1}`) + `]}}`),
		"a schema":          options(`{validator: {$jsonSchema: {bsonType: "object", required: ["a1"], properties: {` + times(300, `name#: {bsonType: "string", description: "must be a string", maxLength: 100}`) + `}}}}`),
		"properties":        options(`{validator: {$jsonSchema: {properties: {` + times(2000, `a#: {bsonType: "int"}`) + `}}}}`),
		"patterns":          options(`{validator: {$jsonSchema: {properties: {` + times(500, `a#: {pattern: "x#abc.*[a-z]+(foo|bar)?"}`) + `}}}}`),
		"patternProperties": options(`{validator: {$jsonSchema: {patternProperties: {` + times(500, `"^a#[0-9]+$": {}`) + `}}}}`),
		"regular ones":      options(`{validator: {$or: [` + times(500, `{a: {$regex: "x"}}`) + `]}}`),
		"repeated ones":     options(`{validator: {$or: [` + times(100, `{a: {$regex: "(x{30}){30}"}}`) + `]}}`),
		"classes":           options(`{validator: {a: {$regex: "` + strings.Repeat("[a-zA-Z]", 1000) + `"}}}`),
		"letters":           options(`{validator: {a: {$regex: "` + strings.Repeat(`\\p{L}`, 500) + `"}}}`),
		"backtracking":      options(`{validator: {$or: [` + times(100, `{a: {$regex: "(?=abc)(a|b)*[a-z]{3}#"}}`) + `]}}`),
		"encryptedFields":   options(`{encryptedFields: {fields: [` + times(2000, `{path: "a#", bsonType: "int"}`) + `]}}`),
		"a view":            options(`{viewOn: "c", pipeline: [` + times(2000, `{$a: 1}`) + `]}`),
		"an index":          spec(`{v: 2, key: {a: 1, "b.c": -1}, name: "a_1_b.c_-1"}`),
		"a partial index":   spec(`{v: 2, key: {a: 1}, name: "a", partialFilterExpression: {$or: [` + times(1000, `{a: {$gt: 1}}`) + `]}}`),
		"a projection":      spec(`{v: 2, key: {"$**": 1}, name: "a", wildcardProjection: {` + times(2000, `"a#.b": 1`) + `}}`),
		"weights":           spec(`{v: 2, key: {_fts: "text", _ftsx: 1}, name: "a", weights: {` + times(1000, `"a#.b": 1`) + `}}`),
		"a long name":       spec(`{v: 2, key: {a: 1}, name: "` + strings.Repeat("x", 60_000) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			var kept [copies]any
			var counted int64
			before := heap()
			for i := range kept {
				kept[i], counted = parse()
			}
			held := (heap() - before) / copies
			if t.Logf("%d bytes, counted for %d", held, counted); held > counted {
				t.Errorf("%d bytes are held, and %d counted", held, counted)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// made puts a collection with a validator of the given size and the given number of partitions.
func made(t *testing.T, c *Catalog, ns collection.Namespace, bytes, partitions int) error {
	t.Helper()
	return c.Change(t.Context(), func(m *Mutation) error {
		options := bsontest.Doc(t, fmt.Sprintf(`{validator: {a: {$ne: %q}}}`, strings.Repeat("x", bytes)))
		coll, err := m.NewCollection(mql.NewEnv(t.Context()), ns, options)
		if err != nil {
			return err
		}
		if partitions > 1 {
			if coll.Map, err = shard.NewMap(shard.Hashed, 1, partitions); err != nil {
				return err
			}
		}
		return m.Put(coll)
	})
}

// A definition is bounded, and so is the memory for all definitions of a database, with their partitions, so
// that room is left for other databases. Existing definitions stay, may be changed if they do not grow, and
// can be dropped, also after a start with less memory.
func TestMetadataIsBounded(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	open := func(bytes int64) (*Catalog, *ratelimit.Memory) {
		c, err := Open(t.Context(), store, release.Default)
		if err != nil {
			t.Fatal(err)
		}
		m := ratelimit.NewMemory(bytes)
		c.CountIn(m)
		return c, m
	}
	ns := func(db string, i int) collection.Namespace {
		return collection.Namespace{DB: db, Coll: fmt.Sprint("c", i)}
	}
	c, m := open(24 << 20)
	if err := made(t, c, ns("a", 0), optionsBytesMax, 1); mongoerr.CodeOf(err) != mongoerr.BSONObjectTooLarge {
		t.Error(err)
	}
	if err := made(t, c, ns("a", 0), 10, 8192); mongoerr.CodeOf(err) != mongoerr.OperationFailed || !strings.Contains(err.Error(), "partitions") {
		t.Error(err)
	}
	if c.RoomForPartitions("a") < 5000 || c.RoomForPartitions("a") > 6000 {
		t.Errorf("room for %d partitions", c.RoomForPartitions("a"))
	}
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		err = made(t, c, ns("a", n), 500_000, 100)
	}
	if used := m.Stats().Used; mongoerr.CodeOf(err) != mongoerr.OperationFailed || used < 12<<20 || used > 16<<20 {
		t.Fatalf("%d collections hold %d bytes: %v", n, used, err)
	}
	if err := made(t, c, ns("b", 0), 500_000, 100); err != nil {
		t.Error("another database:", err)
	}
	used := m.Stats().Used
	c, m = open(4 << 20)
	if now := m.Stats().Used; now != used {
		t.Errorf("%d bytes are counted after a start, before %d", now, used)
	}
	if err := made(t, c, ns("c", 0), 10, 1); mongoerr.CodeOf(err) != mongoerr.OperationFailed {
		t.Error("where there is too much already:", err)
	}
	err = c.Change(t.Context(), func(m *Mutation) error {
		return m.Put(m.Snapshot().Collection(ns("a", 0)).With(func(c *Collection) { c.Namespace.Coll = "renamed" }))
	})
	if err != nil {
		t.Error("one that does not grow:", err)
	}
	err = c.Change(t.Context(), func(m *Mutation) error {
		for _, coll := range m.Snapshot().Collections("") {
			m.Drop(coll)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if now := m.Stats().Used; now != 0 {
		t.Errorf("%d bytes stay counted", now)
	}
}
