package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// rewritings holds the commands that rewrite a sharded collection, and the end of the key that each one leaves.
var rewritings = map[string]struct {
	change func(n *node) error
	key    string
}{
	"reshard": {func(n *node) error {
		return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(n.t, `{a: 1, k: 1}`), Shards: 3,
			Zones: []ddl.ZoneRange{{Name: "low", Min: bsontest.Doc(n.t, `{a: {$minKey: 1}, k: {$minKey: 1}}`), Max: bsontest.Doc(n.t, `{a: 5, k: 0}`)}}})
	}, `{ a: 1, k: 1 }`},
	"refine": {func(n *node) error {
		b := bson.NewBuilder(nil)
		b.Splice(n.coll().Key.Spec().Elements())
		b.Int32("u", 1)
		return n.RefineShardKey(n.op(), shop, b.Doc())
	}, `u: 1 }`},
	"unshard": {func(n *node) error { return n.UnshardCollection(n.op(), shop, 0) }, ""},
}

// A rewriting that the end of the server interrupts at any step is repeated after the next start, with all
// its arguments.
func TestRewritingAgain(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		for name, c := range rewritings {
			for _, step := range reshardSteps {
				t.Run(name+" "+step, func(t *testing.T) {
					n := open()
					n.t = t
					n.sharded(3)
					_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil) // may not stay unique under the new key
					n.must(err)
					n.fill(0, 300)
					old := n.coll()
					n.jobs.Stopping()
					if err := n.killedAt(step, func() error { return c.change(n) }); !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					n = n.reopen()
					n.fill(300, 320)
					n.must(n.jobs.Resume(t.Context()))
					now := n.coll()
					if spec := ""; now.Sharded() {
						spec = now.Key.Spec().String()
						if !strings.HasSuffix(spec, c.key) {
							t.Errorf("key %s", spec)
						}
					} else if c.key != "" {
						t.Errorf("no key")
					}
					if now.ID == old.ID || now.Rewriting != nil || (name == "reshard") != (len(now.Zones) == 1) {
						t.Errorf("%+v", now)
					}
					if got := n.check(`{}`); got != 320 {
						t.Errorf("%d documents", got)
					}
					n.exact()
				})
			}
		}
	})
}

// Reads and writes of an unsharded copy meet only its own insertion order, both before and after the entries that were
// needed to fill the copy are deleted.
func TestUnshardedIsUsedAtOnce(t *testing.T) {
	n := open(t, func() storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) })
	n.sharded(2)
	n.fill(100, 200)
	n.must(n.UnshardCollection(n.op(), shop, 0))
	reads := func(docs int) {
		t.Helper()
		if got := n.check(`{a: {$gte: 0}}`); got != docs {
			t.Errorf("%d documents, want %d", got, docs)
		}
		v, err := n.Validate(n.op(), shop)
		n.must(err)
		if want := int64(docs - 100); !v.Valid() || v.Places.Placed != want {
			t.Errorf("places %+v, want %d", v.Places, want)
		}
	}
	reads(100)
	n.fill(0, 50)
	reads(150)
	n.must(n.jobs.DeleteRecorded(t.Context()))
	reads(150)
}

// A rewriting that fails at the next start, that has begun three times, or whose command is unknown, is given up:
// Resume returns an error, and the collection stays as it is.
func TestRewritingGivenUp(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(2)
		n.fill(0, 100)
		for what, again := range map[string]*catalog.Rewriting{
			"too often": {Command: bsontest.Doc(t, `{reshardCollection: "", key: {a: 1}}`), Runs: 3},
			"fails":     {Command: bsontest.Doc(t, `{reshardCollection: "", key: {tags: 1}}`), Runs: 1},
			"unknown":   {Command: bsontest.Doc(t, `{nonsense: ""}`), Runs: 1},
		} {
			n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
				return m.Put(n.coll().With(func(d *catalog.Collection) { d.Rewriting = again }))
			}))
			n = n.reopen()
			old := n.coll()
			if err := n.jobs.Resume(t.Context()); err == nil {
				t.Errorf("%s: no error", what)
			}
			if now := n.coll(); now.ID != old.ID || now.Rewriting != nil || keyspace.CollectionID(0) == now.ID {
				t.Errorf("%s: %+v", what, now)
			}
		}
		n.exact()
	})
}
