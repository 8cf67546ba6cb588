package rooms

import (
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// TestOneWaitPerCommand checks that all statements of a command with durable writes wait for one sync together, and
// that the writes are on disk when the command replies.
func TestOneWaitPerCommand(t *testing.T) {
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{ReserveBytes: -1, SyncInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, store)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Durability = storage.Synced
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	c.ok(`{create: "capped", capped: true, size: 100000}`)
	c.ok(`{create: "out"}`)
	many := func(statement string) string { return strings.Repeat(statement+", ", 50) }
	for _, command := range []string{
		`{insert: "c", documents: [` + many(`{}`) + `]}`,
		`{insert: "capped", documents: [` + many(`{}`) + `]}`,
		`{update: "c", updates: [` + many(`{q: {_id: 1}, u: {$inc: {n: 1}}}`) + `]}`,
		`{update: "c", updates: [{q: {}, u: {$inc: {n: 1}}, multi: true}]}`,
		`{update: "c", updates: [` + many(`{q: {_id: 1}, u: {$inc: {n: 1}}}`) + `{q: {_id: 1}, u: {$inc: {n: "x"}}}]}`,
		`{findAndModify: "c", query: {_id: 1}, update: {$inc: {n: 1}}}`,
		`{bulkWrite: 1, nsInfo: [{ns: "test.c"}], ops: [` + many(`{update: 0, filter: {_id: 1}, updateMods: {$inc: {n: 1}}}, {insert: 0, document: {}}`) + `], $db: "admin"}`,
		`{aggregate: "c", pipeline: [{$merge: "out"}], cursor: {}}`,
		`{delete: "c", deletes: [` + many(`{q: {}, limit: 1}`) + `]}`,
		`{create: "made"}`,
		`{createIndexes: "made", indexes: [{key: {a: 1}, name: "a"}]}`,
		`{createIndexes: "out", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}]}`,
		`{createIndexes: "new", indexes: [{key: {a: 1}, name: "a"}]}`,
		`{collMod: "made", index: {name: "a", hidden: true}}`,
		`{dropIndexes: "made", index: "a"}`,
		`{renameCollection: "test.made", to: "test.other", $db: "admin"}`,
		`{drop: "other"}`,
	} {
		before := store.Metrics().Syncs
		c.ok(command)
		if n := store.Metrics().Syncs - before; n != 1 {
			t.Errorf("%.60s: %d waits for the disk", command, n)
		}
		if store.Durable() < store.Latest() {
			t.Errorf("%.60s: answered before it was on disk", command)
		}
	}
	before := store.Metrics().Syncs
	c.ok(`{insert: "c", documents: [{}], writeConcern: {w: 1, j: false}}`)
	if n := store.Metrics().Syncs - before; n != 0 {
		t.Errorf("j: false waited %d times", n)
	}
}
