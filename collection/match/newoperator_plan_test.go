package match_test

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// TestNewOperatorIsPlanned requires that the planner makes bounds of an operator that only the test defines, if an
// index has its path, plain or wildcard, and scans the collection if none has.
func TestNewOperatorIsPlanned(t *testing.T) {
	env := mql.NewEnv(context.Background())
	coll := &catalog.Collection{Namespace: collection.Namespace{DB: "test", Coll: "c"}, ID: 1, NextIndex: 4}
	var err error
	if coll.Map, err = shard.NewMap(shard.Unsharded, 1, 1); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{`{v: 2, key: {_id: 1}, name: "_id_"}`, `{v: 2, key: {a: 1}, name: "a_1"}`, `{v: 2, key: {"w.$**": 1}, name: "w"}`} {
		spec, err := index.ParseSpec(env, bsontest.Doc(t, text))
		if err != nil {
			t.Fatal(err)
		}
		coll.Indexes = append(coll.Indexes, &catalog.Index{Spec: spec, ID: keyspace.IndexID(i + 1), State: catalog.IndexReady})
	}
	for filter, want := range map[string]string{
		`{a: {$even: true}}`:                          `FETCH(IXSCAN a_1())`,
		`{"w.x": {$even: true}}`:                      `FETCH(IXSCAN w ["w.x", "w.x"]())`,
		`{b: {$even: true}}`:                          `COLLSCAN()`,
		`{$unless: {a: {$even: true}}}`:               `COLLSCAN()`,
		`{$or: [{a: {$even: true}}, {a: {$gt: 99}}]}`: `FETCH(OR(IXSCAN a_1()IXSCAN a_1()))`,
	} {
		n, err := match.ParseNew(env, bsontest.Doc(t, filter))
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.OfFilter(env, coll, n)
		if err != nil {
			t.Fatal(err)
		}
		list, err := q.Candidates(env)
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0].Name(); got != want {
			t.Errorf("%s is planned as %s, want %s", filter, got, want)
		}
	}
}
